"""confluent-kafka (librdkafka): write BOOTSTRAP TOPIC CODEC FILE | read BOOTSTRAP TOPIC | admin BOOTSTRAP TOPIC"""
import json
import sys

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from records import Digest, load_records

mode, bootstrap, topic = sys.argv[1:4]


def write(codec, path):
    failures = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": codec})
    for key, value, headers in load_records(path):
        producer.produce(
            topic,
            key=key,
            value=value,
            partition=0,
            headers=headers,
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
        producer.poll(0)
    left = producer.flush(240)
    if failures or left:
        sys.exit(f"{left} records not sent, {failures[:3]}")


def read():
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
    consumer.assign([TopicPartition(topic, 0, 0)])
    digest = Digest()
    while digest.count < high:
        messages = consumer.consume(min(1000, high - digest.count), 60)
        if not messages:
            break
        for message in messages:
            if message.error():
                sys.exit(str(message.error()))
            digest.add(message.offset(), message.key(), message.value(), message.headers() or [])
    consumer.close()
    digest.print()


def administer():
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, num_partitions=3, replication_factor=1, config={"retention.ms": "123456"})
    created = admin.create_topics([new])[topic].result() is None
    metadata = admin.list_topics(timeout=60)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    configs = admin.describe_configs([resource])[resource].result()
    admin.delete_topics([topic])[topic].result()
    gone = topic not in admin.list_topics(timeout=60).topics
    partitions = len(metadata.topics[topic].partitions) if topic in metadata.topics else 0
    report = {"created": created, "listed": topic in metadata.topics, "partitions": partitions}
    print(json.dumps({**report, "retentionMs": configs["retention.ms"].value, "gone": gone}))


{"write": write, "read": read, "admin": administer}[mode](*sys.argv[4:])
