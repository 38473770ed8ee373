export { DiscreetError, DomainError, PrivacyError, WireError } from "./errors.js";
export { Ratio } from "./exact.js";
export { Entropy } from "./entropy.js";
export { Mechanism } from "./mechanism.js";
export { Table, Window, Mixture, Ranged } from "./channels.js";
export { Unary, Subset, Hadamard, HadamardBit, HaarBit, Hashing, Projective, Sketch } from "./oracles.js";
export { Interval, Bucket, Categories, Range, SquaredDeviation, readEncoder } from "./encoders.js";
export { Ledger, MemoryStorage, BrowserStorage } from "./ledger.js";
export { channelOf, MEDIA_TYPE, ticketId, writeUpload } from "./upload.js";
