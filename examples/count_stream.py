"""Count a stream of reports exactly once, even if the program is killed.

    python examples/count_stream.py produce LOG [--messages 300]
    python examples/count_stream.py count LOG STATE

`produce` writes messages with reports; `count` adds them up and saves the tallies with the offsets in STATE. You can
kill `count` at any moment (kill -9) and start it again: every message is counted once. LOG is a folder that stands for
a Kafka topic, with one file per partition and one line per message. For a real topic only `read` changes, for example
(confluent-kafka):

    consumer.assign([TopicPartition(topic, int(p), stream.offsets.get(p, OFFSET_BEGINNING)) for p in partitions])
    while message := consumer.poll(10):
        yield Message(str(message.partition()), message.offset(), batch_of(message.value()))
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

import discreet as dc
from discreet.drivers.streams import Message, StreamTally, consume

MECHANISM = dc.mechanism("randomized-response", epsilon=1, size=8)
PARTITIONS = ("0", "1", "2")
REPORTS_PER_MESSAGE = 50


def batch_of(value: bytes) -> pa.RecordBatch:
    """Return the reports of a message; the counter refuses invalid ones."""
    width = MECHANISM.report_bytes
    whole = value[: len(value) - len(value) % width]
    return pa.record_batch({"report": MECHANISM.unpack(whole)})


def produce(log: Path, messages: int) -> None:
    """Write messages of packed reports, as devices would send them."""
    log.mkdir(parents=True, exist_ok=True)
    for place, partition in enumerate(PARTITIONS):
        with open(log / partition, "w", encoding="ascii") as out:
            for number in range(messages):
                answers = [(place + number + i) % MECHANISM.size for i in range(REPORTS_PER_MESSAGE)]
                out.write(MECHANISM.pack(MECHANISM.privatize(answers)).hex() + "\n")


def read(log: Path, offsets: dict[str, int]) -> Iterator[Message]:
    """Yield the messages that are not counted yet, from all partitions in turn."""
    files = {partition: open(log / partition, encoding="ascii") for partition in PARTITIONS}  # noqa: SIM115
    rest = {p: enumerate(islice(file, offsets.get(p, 0), None), offsets.get(p, 0)) for p, file in files.items()}
    while rest:
        for partition in list(rest):
            try:
                offset, line = next(rest[partition])
            except StopIteration:
                del rest[partition]
                files[partition].close()
                continue
            yield Message(partition, offset, batch_of(bytes.fromhex(line)))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["produce", "count"])
    parser.add_argument("log", type=Path)
    parser.add_argument("state", type=Path, nargs="?")
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--every", type=int, default=20, help="save the state after this many messages")
    options = parser.parse_args()
    if options.verb == "produce":
        produce(options.log, options.messages)
        return
    if options.state is None:
        parser.error("count needs STATE")
    with StreamTally({"report": MECHANISM}, options.state) as stream:
        print(f"starting at {stream.offsets or 'the beginning'}", flush=True)
        counted = consume(read(options.log, dict(stream.offsets)), stream, options.every)
        print(f"{counted} messages counted now, {stream.tallies['report'].n} reports in total")


if __name__ == "__main__":
    main()
