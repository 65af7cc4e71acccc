"""librdkafka's producer, its clock in sight: BOOTSTRAP TOPIC EVERY_MS [NAME=VALUE...] sends a record every so often to
partition 0. Prints a line for each: when it was sent, when it was answered (nanoseconds of the monotonic clock), and the
error code, 0 for none. Ends on SIGTERM, without waiting for what is under way.
"""
import os
import signal
import sys
import time

from confluent_kafka import Producer

bootstrap, topic, every_ms = sys.argv[1:4]
settings = dict(one.split("=", 1) for one in sys.argv[4:])
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def tell(sent_ns, error):
    sys.stdout.write(f"{sent_ns} {time.monotonic_ns()} {error.code() if error else 0}\n")
    sys.stdout.flush()


producer = Producer({**settings, "bootstrap.servers": bootstrap, "acks": "all"})
due = time.monotonic()
while True:
    sent_ns = time.monotonic_ns()
    try:
        producer.produce(topic, b"x" * 100, partition=0, on_delivery=lambda error, _, at=sent_ns: tell(at, error))
    except BufferError:
        pass
    due += float(every_ms) / 1000
    while (left := due - time.monotonic()) > 0:
        producer.poll(left)
    producer.poll(0)
