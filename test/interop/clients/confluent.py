"""Produces COUNT records with librdkafka and reads partition 0 back without a group.

Arguments: bootstrap, topic, count. Prints the number of records read and whether they came whole and in order.
"""
import json
import sys

from confluent_kafka import Consumer, Producer, TopicPartition

bootstrap, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
failures = []
producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": "zstd"})
for number in range(count):
    producer.produce(
        topic,
        key=f"k{number}",
        value=f"value {number}",
        partition=0,
        headers={"h": "one"},
        on_delivery=lambda error, _: failures.append(str(error)) if error else None,
    )
    if number % 1000 == 0:
        producer.poll(0)
producer.flush(30)

consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
consumer.assign([TopicPartition(topic, 0, 0)])
read = 0
in_order = True
while read < count:
    messages = consumer.consume(1000, 10)
    if not messages:
        break
    for message in messages:
        if message.error():
            failures.append(str(message.error()))
            continue
        expected = (f"k{read}".encode(), f"value {read}".encode(), [("h", b"one")], read)
        in_order &= (message.key(), message.value(), message.headers(), message.offset()) == expected
        read += 1
low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
consumer.close()
print(json.dumps({"read": read, "inOrder": in_order, "failures": failures[:3], "low": low, "high": high}))
