/** Base of every error of discreet: one sentence that names the field, the value and what is allowed. */
export class DiscreetError extends Error {
  /** What it is about, for programs that say it in other words: answered, charged, claim, group, insecure, ledger, limit, lost, unprotected, or "". */
  readonly code: string;
  /** The numbers of the sentence. */
  readonly values: Record<string, number>;
}
/** A value that the declared domain does not hold. */
export class DomainError extends DiscreetError {}
/** A mechanism that exceeds its claim, or an answer that exceeds its owner's limit. */
export class PrivacyError extends DiscreetError {}
/** A document that does not follow the wire format. */
export class WireError extends DiscreetError {}

/** A positive rational number: the largest P(report | x) / P(report | x'), or a product of such. */
export class Ratio {
  constructor(n: bigint | number, d?: bigint | number);
  static parse(text: string): Ratio;
  readonly n: bigint;
  readonly d: bigint;
  /** A number as it is written, not as the machine holds it: 0.1 is one tenth. */
  static decimal(number: number): Ratio;
  times(other: Ratio): Ratio;
  /** Whether ratio <= e^epsilon, never true by rounding. */
  within(epsilon: number | Ratio): boolean;
  /** ln(ratio), rounded up. */
  readonly epsilon: number;
  toString(): string;
}

/** The only source of randomness: the keystream of AES-256-CTR; the same key gives the same words in Python. */
export class Entropy {
  /** A key of the system unless one of 32 bytes is given, which must never be used twice. */
  constructor(key?: Uint8Array | Promise<Uint8Array>);
  /** Whether its words can be made again from a key or a seed: then it protects nobody by itself. */
  readonly isReproducible: boolean;
  /** A reproducible stream: for tests only, it protects nobody. */
  static seeded(seed: number, stream?: number): Entropy;
  /** The stream of one person's answer to one question: the same value gives the same report. */
  static memoised(secret: Uint8Array, task: string, value: number | string): Entropy;
  read(count: number): Promise<Uint8Array>;
  /** A fresh 128-bit report id, unlinkable to anything. */
  reportId(): Promise<Uint8Array>;
}

/** A whole number of the alphabet, or the bytes of a bit vector. */
export type Report = number | bigint | Uint8Array;

export interface Draw {
  /** The system's unless given. */
  entropy?: Entropy;
  /** For mechanisms with a public coin: the word that belongs to the report's id. */
  publicWord?: bigint;
}

/** A randomiser with a finite alphabet, made from a document whose claim was checked on this device. */
export class Mechanism {
  protected constructor(fields: never);
  /** Read a document, compute its exact epsilon, and refuse it if that is above its claim or above `limit`. */
  static fromJSON(text: string, options?: { limit?: number }): Promise<Mechanism>;
  readonly kind: string;
  readonly name: string;
  /** SHA-256 of the canonical document, as in Python. */
  readonly id: string;
  /** What the document claims. */
  readonly epsilon: number;
  /** What is exactly true: the largest ratio, and its logarithm rounded up. */
  readonly certificate: { readonly ratio: Ratio; readonly claimed: number; readonly epsilon: number };
  /** Whether inputs are numbers in [-1, 1] rather than categories 0..size-1. */
  readonly numeric: boolean;
  /** Which inputs it takes, in the words of encoders. */
  readonly image: Image;
  readonly isPublic: boolean;
  readonly size: number;
  /** Number of different reports; 0 if the report is a bit vector. */
  readonly alphabet: number | bigint;
  readonly wordsPerReport: number;
  readonly reportBytes: number;
  /** Build a mechanism, with its id, from a document that was parsed strictly. */
  static fromParsed(document: object): Promise<Mechanism>;
  /** Whether every input that an encoder can make is one of this mechanism, so that no value can fail. */
  fits(encoder: Encoder): boolean;
  /** Return a canonical input if the mechanism takes it. */
  check(x: number): number;
  /** Randomise one canonical input; only what this returns may leave the device. */
  privatize(x: number, draw?: Draw): Promise<Report>;
  privatizeAll(inputs: number[], draw?: Draw): Promise<Report[]>;
  publicWord(reportId: Uint8Array): Promise<bigint>;
  /** The report as it is sent. */
  pack(report: Report): Uint8Array;
}
export class Table extends Mechanism {}
export class Window extends Mechanism {}
export class Mixture extends Mechanism {}
export class Ranged extends Mechanism {}
export class Unary extends Mechanism {}
export class Subset extends Mechanism {}
export class Hadamard extends Mechanism {}
export class HadamardBit extends Mechanism {}
export class HaarBit extends HadamardBit {}
export class Hashing extends Mechanism {}
export class Projective extends Mechanism {}
export class Sketch extends Mechanism {}
export class Agreement extends Mechanism {}
export class Padded extends Mechanism {}
/** An oracle whose input may lie between two categories. */
export class Rounded extends Mechanism {
  readonly oracle: Mechanism;
}

/** Which inputs an encoder makes: numbers in [-1, 1], those or 2 (outside), categories 0..size-1, or places from 0 to size - 1. */
export type Image = "numbers" | "numbers or outside" | "categories" | "places";
/** Turns what a person holds into a mechanism's input. */
export interface Encoder {
  /** Known before any value is; an encoder of your own may lack it. */
  readonly image?: Image;
  /** How many categories or places it makes. */
  readonly size?: number;
  /** Throws DomainError for what it cannot read. */
  encode(value: any): number;
}
/** The encoders of round documents; in them no value can fail. */
declare abstract class TotalEncoder implements Encoder {
  readonly image: Image;
  readonly size: number;
  /** The input of whatever cannot be read. */
  readonly replacement: number;
  encode(value: any): number;
  /** The input of any value at all, and whether it had to be replaced; never throws. */
  encodeTotal(value: unknown): { input: number; isReplaced: boolean };
}
/** Numbers from low to high, scaled to [-1, 1]; values outside are clipped. */
export class Interval extends TotalEncoder {
  constructor(low: number, high: number);
  readonly low: number;
  readonly high: number;
  clip(value: number): number;
  encode(value: number): number;
}
/** Numbers of an interval as the number of their bucket, 0..bins-1. */
export class Bucket extends TotalEncoder {
  constructor(interval: Interval, bins: number);
  readonly interval: Interval;
  readonly bins: number;
  encode(value: number): number;
}
/** Whole numbers 0..size-1 as categories: each stands for an answer, a refusal too. */
export class Symbols extends TotalEncoder {
  constructor(size: number);
  encode(value: number): number;
}
/** One column of a person's row, scaled to [-1, 1]; 2 if the person gives no number. */
export class NumberOrRefusal extends TotalEncoder {
  constructor(index: number, interval: Interval);
  readonly index: number;
  readonly interval: Interval;
  encode(row: (number | null)[]): number;
}
/** One attribute of a person's row of numbers. */
export class Attribute extends TotalEncoder {
  constructor(index: number, interval: Interval);
  readonly index: number;
  readonly interval: Interval;
  encode(row: number[]): number;
}
/** A list of labels, in the order given. */
export class Categories extends TotalEncoder {
  constructor(labels: (string | number)[]);
  readonly labels: (string | number)[];
  encode(value: string | number): number;
}
/** Numbers of an interval as places in a region of a range: [-1, 1], or 2 for those outside the range. */
export class Range extends TotalEncoder {
  constructor(interval: Interval, range: number[], region: number[], clip: boolean);
  readonly interval: Interval;
  readonly range: number[];
  readonly region: number[];
  readonly clip: boolean;
  encode(value: number): number;
}
/** Numbers of an interval as their squared distance from a centre, scaled to [-1, 1]. */
export class SquaredDeviation extends TotalEncoder {
  constructor(interval: Interval, centre: number);
  readonly interval: Interval;
  readonly centre: number;
  encode(value: number): number;
}
/** Whether a number of an interval is at most a threshold: 1 for yes, 0 for no. */
export class Below extends TotalEncoder {
  constructor(interval: Interval, threshold: string);
  readonly interval: Interval;
  readonly threshold: string;
  encode(value: number): number;
}
/** Rows (label, number) as a place among the cells (group, knot). */
export class GroupValue extends TotalEncoder {
  constructor(groups: Categories, interval: Interval, levels: number);
  readonly groups: Categories;
  readonly interval: Interval;
  readonly levels: number;
  encode(row: [string | number, number]): number;
}
/** Rows (label, number) as the number on [-1, 1] times the sign of the label in a row of a Hadamard matrix. */
export class SignedValue extends TotalEncoder {
  constructor(groups: Categories, interval: Interval, row: number);
  readonly groups: Categories;
  readonly interval: Interval;
  readonly row: number;
  encode(row: [string | number, number]): number;
}
/** Several answers of a person's row as one category, in mixed radix: the first changes slowest. */
export class Answers extends TotalEncoder {
  constructor(columns: number[], encoders: (Below | Bucket | Categories)[]);
  readonly columns: number[];
  readonly encoders: (Below | Bucket | Categories)[];
  encode(row: any[]): number;
}
/** The encoder that Python's `to_dict` wrote. */
export function readEncoder(
  description: object,
): Interval | Answers | Attribute | Below | Bucket | Categories | GroupValue | Range | SignedValue | SquaredDeviation;

/** Where a ledger lives; all may return promises. `get` gives null for a key that was never set. */
export interface Storage {
  get(key: string): string | null | Promise<string | null>;
  set(key: string, text: string): void | Promise<void>;
  /** Do some work while nobody else does any under this key: needed where several objects, tabs or processes share the storage. */
  alone?<T>(key: string, work: () => Promise<T>): Promise<T>;
}
/** Forgets when the page closes: for tests. */
export class MemoryStorage implements Storage {
  get(key: string): string | null;
  set(key: string, text: string): void;
}
/** The browser's localStorage, one tab at a time; refuses to work without navigator.locks. */
export class BrowserStorage implements Storage {
  get(key: string): string | null;
  set(key: string, text: string): void;
  alone<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export interface Entry {
  task: string;
  /** Id of the mechanism's document. */
  mechanism: string;
  name: string;
  /** The exact cost, "n/d": e^epsilon. */
  ratio: string;
  /** The same as epsilon, rounded up. */
  epsilon: number;
  /** Tells the same answer given again, while it is not acknowledged; empty otherwise, and for answers to campaigns. */
  mark: string;
  /** The report's id. */
  id: string;
  /** What waits to be sent; null if nothing does, missing if the answer was lost between charge and report. */
  kept?: Kept | null;
}

/** What waits to be sent. */
export interface Kept {
  /** The id or ticket to upload, hexadecimal. */
  sent: string;
  /** The packed reports, hexadecimal. */
  report: string;
  isReplaced: boolean;
}
/** The ledger while nobody else uses it. */
export interface Account {
  /** The secret behind marks; made where there is none, dropped with the last mark. */
  secret(): Promise<Uint8Array>;
  readonly entries: readonly Entry[];
  /** Store a new entry, or throw PrivacyError if it would exceed the limit, or if its id was charged before. */
  charge(charge: { task: string; mechanism: string; name: string; ratio: Ratio; mark: string; id: string; kept?: null }): Promise<Entry>;
  /** Store what waits to be sent. */
  keep(entry: Entry, kept: Kept): Promise<void>;
  /** Drop everything of these entries but what they cost. */
  settle(settled: Entry[]): Promise<void>;
}
/** Keeps a budget that its owner sets: exact ratios multiply, as in Python. All ledgers of one storage and key are one. */
export class Ledger {
  /** `limit` is needed to start a new ledger; for one that is stored it must be what is stored, or left out. */
  constructor(options: { storage: Storage; limit?: number; key?: string });
  readonly storage: Storage;
  readonly limit: number | undefined;
  readonly key: string;
  /** What was answered, what it cost together (rounded up), and the limit. */
  statement(): Promise<{ entries: Entry[]; epsilon: number; limit: number }>;
  /** Whether an answer with this exact ratio would keep the limit; charges nothing. */
  allows(ratio: Ratio): Promise<boolean>;
  /** Let the owner change the limit; what was spent stays. */
  changeLimit(limit: number): Promise<void>;
  /** Do some work while nobody else uses the ledger. */
  transact<T>(work: (account: Account) => Promise<T>): Promise<T>;
}

/** A report that was made and charged. */
export interface Answer {
  /** The report's id. */
  id: Uint8Array;
  report: Uint8Array;
  /** Whether it was charged now. */
  isNew: boolean;
  /** Whether the value could not be read, so that a constant was randomised in its place. */
  isReplaced: boolean;
}
/** Answers questions within a ledger. */
export class Device {
  constructor(ledger: Ledger);
  readonly ledger: Ledger;
  /**
   * Answer a round of a campaign, once: charge, draw and keep the report until `acknowledge`. Asked again before that, it
   * gives the same bytes. Throws PrivacyError if the campaign was answered before, or the limit would be exceeded; never
   * because of the value.
   */
  answerRound(
    round: Round,
    value: unknown,
    options?: {
      /** where the collector issues it */
      id?: Uint8Array;
      /** where one is needed */
      ticket?: Uint8Array;
      /** the label of the person's public group, where the round has groups; it is sent as it is */
      group?: any;
      /** for tests; a reproducible one needs `isSimulation` */
      entropy?: Entropy;
      isSimulation?: boolean;
    },
  ): Promise<Answer & { /** the id or ticket to upload */ sent: Uint8Array }>;
  /** The report of a campaign that waits to be sent, with the number of its round, or null. */
  waiting(campaign: string): Promise<(Omit<Answer, "isNew"> & { sent: Uint8Array; number: number }) | null>;
  /**
   * Drop what is left of an answer that its collector has: the report, and whatever could test a guess of the value.
   * `task` is a campaign's id, or the task of `answer`. What it cost stays.
   */
  acknowledge(task: string): Promise<void>;
  /** Privatise an answer to a question of your own; the same answer again is the same report, and free. */
  answer(
    task: string,
    channels: { mechanism: Mechanism; encoder?: Encoder } | { mechanism: Mechanism; encoder?: Encoder }[],
    value: any,
    options?: { /** where the collector issues it */ id?: Uint8Array },
  ): Promise<Answer>;
}

/** How one group of people is asked. */
export interface Channel {
  readonly key: string;
  readonly mechanism: Mechanism;
  readonly encoder: TotalEncoder;
  /** The mechanism's document. */
  readonly document: object;
}
/** An open round that was verified on this device. */
/** "prefer not to say": an answer like any other. */
export const REFUSED: string;
/** "does not apply": what is sent for a question whose condition is not fulfilled. */
export const ABSENT: string;
export interface Question {
  readonly kind: "choice" | "number" | "ticks";
  readonly name: string;
  /** As people read it; the name if it is empty. */
  readonly text: string;
  readonly when: string | null;
  readonly refusal: boolean;
  readonly options: any[];
  readonly low: number;
  readonly high: number;
  /** How many ticks count at most. */
  readonly most: number | null;
  /** Which options each column asks. */
  readonly groups: number[][];
  /** Whether all options are asked as one set. */
  readonly set: boolean;
  /** The symbols besides the options. */
  readonly extras: string[];
  /** The questions that its condition is about. */
  readonly needs: string[];
  /** Whether it applies to somebody with these answers. */
  applies(answers: Record<string, any>): boolean;
}
export interface Column {
  readonly question: Question;
  readonly options: number[];
  readonly symbols: number;
}
/** The questions of a round, and the row that a person's answers become. */
export class Form {
  protected constructor(questions: Question[]);
  static read(listed: object[]): Form;
  readonly questions: Question[];
  readonly columns: Column[];
  /** The columns that a channel's encoder reads. */
  asked(encoder: Encoder): number[];
  /** Refuse an encoder that reads other columns, or other symbols, than the form has. */
  check(encoder: Encoder): void;
  /** The row of one person's answers by name; never throws. */
  row(answers: Record<string, any>): any[];
}
export class Round {
  /**
   * Read the text of an announcement; throws WireError if it is malformed or a value could fail in it, PrivacyError if it
   * is less private than claimed or allowed. An object is refused: it no longer tells whether a key was repeated.
   */
  static read(text: string, options?: { limit?: number; campaign?: string }): Promise<Round>;
  protected constructor(fields: never);
  readonly campaign: string;
  readonly admission: "open" | "issued" | "invited";
  /** What all answers of one person cost together, as the collector claims. */
  readonly epsilon: number;
  readonly number: number;
  /** The part of all people that this round asks. */
  readonly share: number;
  /** How many channels each person answers. */
  readonly answers: number;
  /** Where each channel ends on a scale of 2^48. */
  readonly ends: number[];
  readonly channels: Channel[];
  /** What a questionnaire asks, in words; null for other rounds. */
  readonly form: Form | null;
  /** Public groups, all of them asked alike; null if the round has none. */
  readonly by: Categories | null;
  /** Bytes of one person's entry: their public group, if there are groups, and their reports. */
  readonly width: number;
  /** What comes before the reports: the number of a public group, by its label or by an invitation made for it. */
  lead(label?: any, ticket?: Uint8Array): Uint8Array;
  /** The number of the public group that an invitation was made for, or null. */
  invitedGroup(ticket?: Uint8Array): number | null;
  /** The channels that people answer for whom this one is drawn. */
  answered(first: number): Channel[];
  /** What those answers reveal together, exactly. */
  ratio(first: number): Ratio;
  /** The channels that a report id answers, in the order of their reports. */
  channelsOf(id: Uint8Array): Promise<Channel[]>;
  /** What the encoders read: the row of somebody's answers to a questionnaire, by name, or the value itself. */
  held(value: any): any;
  /** The packed reports of one answer, whatever the value, drawn afresh: charge it first. */
  privatize(value: any, id: Uint8Array, draw?: { entropy?: Entropy; group?: any }): Promise<Uint8Array>;
}

/** The media type of an upload. */
export const MEDIA_TYPE: string;
/** The channel of a round that a report id draws; `ends` says where each channel ends on a scale of 2^48. */
export function channelOf(campaign: Uint8Array, round: number, id: Uint8Array, ends: number[]): Promise<number>;
/** The report id for which an invitation ticket is spent. */
export function ticketId(campaign: Uint8Array, ticket: Uint8Array): Promise<Uint8Array>;
/** The body of an upload. */
export function writeUpload(
  campaign: Uint8Array,
  round: number,
  width: number,
  answers: { id: Uint8Array; report: Uint8Array }[],
): Uint8Array;
