"""aiokafka: write BOOTSTRAP TOPIC CODEC FILE | read BOOTSTRAP TOPIC | admin BOOTSTRAP TOPIC |
member BOOTSTRAP TOPIC GROUP ASSIGNOR
"""
import asyncio
import json
import sys

import members
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError
from records import Digest, load_records

mode, bootstrap, topic = sys.argv[1:4]


async def write(codec, path):
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, enable_idempotence=True
    )
    await producer.start()
    sent = [
        await producer.send(topic, key=key, value=value, partition=0, headers=headers)
        for key, value, headers in load_records(path)
    ]
    await asyncio.gather(*sent)
    await producer.stop()


async def read():
    # A seek would race with the first look for an offset, which this client lets win.
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    high = (await consumer.end_offsets([partition]))[partition]
    digest = Digest()
    while digest.count < high:
        batches = await consumer.getmany(partition, timeout_ms=60000)
        if not batches:
            break
        for record in batches[partition]:
            digest.add(record.offset, record.key, record.value, record.headers)
    await consumer.stop()
    digest.print()


async def administer():
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    new = NewTopic(topic, num_partitions=3, replication_factor=1, topic_configs={"retention.ms": "123456"})
    created = bool(await admin.create_topics([new]))
    listed = topic in await admin.list_topics()
    partitions = len((await admin.describe_topics([topic]))[0]["partitions"])
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": None})
    [described] = await admin.describe_configs([resource])
    values = {entry[0]: entry[1] for entry in described.resources[0][4]}
    await admin.delete_topics([topic])
    gone = topic not in await admin.list_topics()
    await admin.close()
    report = {"created": created, "listed": listed, "partitions": partitions}
    print(json.dumps({**report, "retentionMs": values["retention.ms"], "gone": gone}))


ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


async def member(group, assignor):
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        partition_assignment_strategy=[ASSIGNORS[assignor]],
        session_timeout_ms=members.SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=members.HEARTBEAT_INTERVAL_MS,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    ending = members.Ending()
    await consumer.start()
    is_owing = False
    while not ending.is_told or is_owing:
        try:
            batches = await consumer.getmany(timeout_ms=members.POLL_MS)
            for batch in batches.values():
                for record in batch:
                    members.show(record.value)
            is_owing = is_owing or len(batches) > 0
            if is_owing:
                await consumer.commit()
            is_owing = False
        except KafkaError as error:
            members.complain(error)
    await consumer.stop()


asyncio.run({"write": write, "read": read, "admin": administer, "member": member}[mode](*sys.argv[4:]))
