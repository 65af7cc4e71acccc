"""confluent-kafka (librdkafka): write BOOTSTRAP TOPIC CODEC FILE | read BOOTSTRAP TOPIC | admin BOOTSTRAP TOPIC |
member BOOTSTRAP TOPIC GROUP ASSIGNOR
"""
import json
import sys

import members
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
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


def member(group, assignor):
    classic = {
        "partition.assignment.strategy": assignor,
        "session.timeout.ms": members.SESSION_TIMEOUT_MS,
        "heartbeat.interval.ms": members.HEARTBEAT_INTERVAL_MS,
    }
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **({"group.protocol": "consumer"} if assignor == "consumer" else classic),
        }
    )
    ending = members.Ending()
    consumer.subscribe([topic])
    # A commit that fails amid a rebalance is owed still: who keeps its partitions reads nothing again.
    is_owing = False
    while not ending.is_told or is_owing:
        for message in consumer.consume(1000, members.POLL_MS / 1000):
            if message.error() is None:
                members.show(message.value())
                is_owing = True
            else:
                members.complain(message.error())
        try:
            if is_owing:
                consumer.commit(asynchronous=False)
            is_owing = False
        except KafkaException as error:
            members.complain(error)
            # There is nothing to commit of what has gone to others.
            is_owing = error.args[0].code() != KafkaError._NO_OFFSET
    consumer.close()


{"write": write, "read": read, "admin": administer, "member": member}[mode](*sys.argv[4:])
