package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var franzCodecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func franzClient(bootstrap string, options ...kgo.Opt) (*kgo.Client, context.Context) {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(bootstrap))...)
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 240*time.Second)
	context.AfterFunc(ctx, cancel)
	return client, ctx
}

func franzWrite(bootstrap, topic, codec string, records []Record) {
	client, ctx := franzClient(bootstrap,
		kgo.AllowAutoTopicCreation(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(franzCodecs[codec]),
	)
	defer client.Close()
	for _, record := range records {
		sent := &kgo.Record{Topic: topic, Key: record.Key, Value: record.Value}
		for _, header := range record.Headers {
			sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		client.Produce(ctx, sent, func(_ *kgo.Record, err error) { check(err) })
	}
	check(client.Flush(ctx))
}

func franzRead(bootstrap, topic string, digest *Digest) {
	client, ctx := franzClient(bootstrap,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	defer client.Close()
	listed, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	check(err)
	end, _ := listed.Lookup(topic, 0)
	check(end.Err)
	for digest.Count < end.Offset {
		fetches := client.PollFetches(ctx)
		for _, problem := range fetches.Errors() {
			check(problem.Err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			read := Record{Key: record.Key, Value: record.Value}
			for _, header := range record.Headers {
				read.Headers = append(read.Headers, Header{header.Key, header.Value})
			}
			digest.Add(record.Offset, read)
		})
	}
}

func franzAdmin(bootstrap, topic string) AdminReport {
	client, ctx := franzClient(bootstrap)
	defer client.Close()
	admin := kadm.NewClient(client)
	created, err := admin.CreateTopic(ctx, 3, 1, map[string]*string{"retention.ms": kadm.StringPtr("123456")}, topic)
	check(err)
	topics, err := admin.ListTopics(ctx)
	check(err)
	report := AdminReport{Created: created.Err == nil, Listed: topics.Has(topic)}
	report.Partitions = len(topics[topic].Partitions)
	described, err := admin.DescribeTopicConfigs(ctx, topic)
	check(err)
	for _, config := range described[0].Configs {
		if config.Key == "retention.ms" {
			report.RetentionMs = config.MaybeValue()
		}
	}
	_, err = admin.DeleteTopic(ctx, topic)
	check(err)
	// A client answers from what it has heard before; another one asks.
	other, ctx := franzClient(bootstrap)
	defer other.Close()
	topics, err = kadm.NewClient(other).ListTopics(ctx)
	check(err)
	report.Gone = !topics.Has(topic)
	return report
}
