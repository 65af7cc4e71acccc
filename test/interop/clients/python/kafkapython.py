"""kafka-python: write BOOTSTRAP TOPIC CODEC FILE | read BOOTSTRAP TOPIC | admin BOOTSTRAP TOPIC |
member BOOTSTRAP TOPIC GROUP ASSIGNOR
"""
import json
import sys

import members
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError
from records import Digest, load_records

mode, bootstrap, topic = sys.argv[1:4]


def write(codec, path):
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, linger_ms=5, acks="all"
    )
    futures = [
        producer.send(topic, key=key, value=value, partition=0, headers=headers)
        for key, value, headers in load_records(path)
    ]
    producer.flush(240)
    for future in futures:
        future.get(timeout=60)
    producer.close()


def read():
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    high = consumer.end_offsets([partition])[partition]
    consumer.seek_to_beginning(partition)
    digest = Digest()
    while digest.count < high:
        batches = consumer.poll(timeout_ms=60000)
        if not batches:
            break
        for record in batches[partition]:
            digest.add(record.offset, record.key, record.value, record.headers)
    consumer.close()
    digest.print()


def administer():
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    new = NewTopic(topic, num_partitions=3, replication_factor=1, topic_configs={"retention.ms": "123456"})
    created = bool(admin.create_topics([new]))
    listed = topic in admin.list_topics()
    partitions = len(admin.describe_topics([topic])[0]["partitions"])
    configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": None})])
    admin.delete_topics([topic])
    gone = topic not in admin.list_topics()
    admin.close()
    report = {"created": created, "listed": listed, "partitions": partitions}
    print(json.dumps({**report, "retentionMs": configs["topic"][topic]["retention.ms"]["value"], "gone": gone}))


ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def member(group, assignor):
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap.split(","),
        group_id=group,
        partition_assignment_strategy=[ASSIGNORS[assignor]],
        session_timeout_ms=members.SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=members.HEARTBEAT_INTERVAL_MS,
        auto_commit_interval_ms=members.COMMIT_INTERVAL_MS,
        auto_offset_reset="earliest",
    )
    ending = members.Ending()
    while not ending.is_told:
        try:
            for batch in consumer.poll(timeout_ms=members.POLL_MS).values():
                for record in batch:
                    members.show(record.value)
        except KafkaError as error:
            members.complain(error)
    consumer.close()


{"write": write, "read": read, "admin": administer, "member": member}[mode](*sys.argv[4:])
