//! rskafka: write BOOTSTRAP TOPIC CODEC FILE | read BOOTSTRAP TOPIC | admin BOOTSTRAP TOPIC
//!
//! The file holds records: key, value, number of headers, then name and value of each; 4 bytes of length (-1 is null),
//! then bytes. The digest of what was read is over the offset and the record as the file has it.
use std::{collections::BTreeMap, env, fs, time::Duration};

use chrono::Utc;
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use sha2::{Digest, Sha256};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// What a batch may hold, so that a broker takes it: records, and bytes of values.
const BATCH_RECORDS_MAX: usize = 500;
const BATCH_BYTES_MAX: usize = 950_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Fallible<()> {
    let arguments: Vec<String> = env::args().collect();
    let (mode, topic) = (arguments[1].as_str(), arguments[3].as_str());
    let client = ClientBuilder::new(vec![arguments[2].clone()]).build().await?;
    match mode {
        "write" => write(&partition(&client, topic).await?, &arguments[4], &arguments[5]).await,
        "read" => read(&partition(&client, topic).await?).await,
        _ => administer(&client, topic).await,
    }
}

async fn partition(client: &Client, topic: &str) -> Fallible<PartitionClient> {
    let opened = client.partition_client(topic, 0, UnknownTopicHandling::Retry);
    Ok(tokio::time::timeout(Duration::from_secs(30), opened).await??)
}

async fn write(partition: &PartitionClient, codec: &str, file: &str) -> Fallible<()> {
    let compression = match codec {
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        _ => Compression::NoCompression,
    };
    let mut batch: Vec<Record> = Vec::new();
    let mut bytes = 0;
    for record in load_records(&fs::read(file)?) {
        let size = record.approximate_size() + 100;
        if batch.len() == BATCH_RECORDS_MAX || bytes + size > BATCH_BYTES_MAX {
            partition.produce(std::mem::take(&mut batch), compression).await?;
            bytes = 0;
        }
        batch.push(record);
        bytes += size;
    }
    partition.produce(batch, compression).await?;
    Ok(())
}

async fn read(partition: &PartitionClient) -> Fallible<()> {
    let end = partition.get_offset(OffsetAt::Latest).await?;
    let mut hash = Sha256::new();
    let (mut next, mut count) = (0, 0);
    while next < end {
        let (records, _) = partition.fetch_records(next, 1..2_000_000, 500).await?;
        for found in records {
            hash.update(found.offset.to_be_bytes());
            blob(&mut hash, found.record.key.as_deref());
            blob(&mut hash, found.record.value.as_deref());
            hash.update((found.record.headers.len() as i32).to_be_bytes());
            for (name, content) in &found.record.headers {
                blob(&mut hash, Some(name.as_bytes()));
                blob(&mut hash, Some(content));
            }
            next = found.offset + 1;
            count += 1;
        }
    }
    let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{{\"count\":{count},\"digest\":\"{digest}\"}}");
    Ok(())
}

/// rskafka creates, lists and deletes topics; it has no configs.
async fn administer(client: &Client, topic: &str) -> Fallible<()> {
    let controller = client.controller_client()?;
    controller.create_topic(topic, 3, 1, 10_000).await?;
    let topics = client.list_topics().await?;
    let found = topics.iter().find(|one| one.name == topic);
    let partitions = found.map_or(0, |one| one.partitions.len());
    controller.delete_topic(topic, 10_000).await?;
    let gone = client.list_topics().await?.iter().all(|one| one.name != topic);
    let listed = found.is_some();
    println!("{{\"created\":true,\"listed\":{listed},\"partitions\":{partitions},\"gone\":{gone}}}");
    Ok(())
}

fn blob(hash: &mut Sha256, content: Option<&[u8]>) {
    hash.update(content.map_or(-1, |bytes| bytes.len() as i32).to_be_bytes());
    hash.update(content.unwrap_or_default());
}

fn load_records(data: &[u8]) -> Vec<Record> {
    let mut at = 0;
    let mut records = Vec::new();
    while at < data.len() {
        let (key, value) = (take_blob(data, &mut at), take_blob(data, &mut at));
        let mut headers = BTreeMap::new();
        for _ in 0..take_integer(data, &mut at) {
            let name = take_blob(data, &mut at).unwrap_or_default();
            let content = take_blob(data, &mut at).unwrap_or_default();
            headers.insert(String::from_utf8_lossy(&name).into_owned(), content);
        }
        records.push(Record {
            key,
            value,
            headers,
            timestamp: Utc::now(),
        });
    }
    records
}

fn take_integer(data: &[u8], at: &mut usize) -> i32 {
    let bytes = [data[*at], data[*at + 1], data[*at + 2], data[*at + 3]];
    *at += 4;
    i32::from_be_bytes(bytes)
}

fn take_blob(data: &[u8], at: &mut usize) -> Option<Vec<u8>> {
    let size = usize::try_from(take_integer(data, at)).ok()?;
    *at += size;
    Some(data[*at - size..*at].to_vec())
}
