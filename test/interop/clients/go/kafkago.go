package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
)

var kafkaGoCodecs = map[string]kafka.Compression{
	"none":   0,
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

func kafkaGoWrite(bootstrap, topic, codec string, records []Record) {
	writer := &kafka.Writer{
		Addr:                   kafka.TCP(bootstrap),
		Topic:                  topic,
		BatchSize:              500,
		BatchTimeout:           5 * time.Millisecond,
		RequiredAcks:           kafka.RequireAll,
		Compression:            kafkaGoCodecs[codec],
		AllowAutoTopicCreation: true,
	}
	messages := make([]kafka.Message, len(records))
	for index, record := range records {
		messages[index] = kafka.Message{Key: record.Key, Value: record.Value}
		for _, header := range record.Headers {
			messages[index].Headers = append(messages[index].Headers, kafka.Header{Key: header.Name, Value: header.Value})
		}
	}
	check(writer.WriteMessages(context.Background(), messages...))
	check(writer.Close())
}

func kafkaGoRead(bootstrap, topic string, digest *Digest) {
	ctx := context.Background()
	leader, err := kafka.DialLeader(ctx, "tcp", bootstrap, topic, 0)
	check(err)
	end, err := leader.ReadLastOffset()
	check(err)
	check(leader.Close())
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{bootstrap},
		Topic:     topic,
		Partition: 0,
		MaxBytes:  4_000_000,
		MaxWait:   500 * time.Millisecond,
	})
	for digest.Count < end {
		record, err := reader.ReadMessage(ctx)
		check(err)
		read := Record{Key: record.Key, Value: record.Value}
		for _, header := range record.Headers {
			read.Headers = append(read.Headers, Header{header.Key, header.Value})
		}
		digest.Add(record.Offset, read)
	}
	check(reader.Close())
}

func kafkaGoAdmin(bootstrap, topic string) AdminReport {
	ctx := context.Background()
	client := &kafka.Client{Addr: kafka.TCP(bootstrap)}
	created, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic:             topic,
		NumPartitions:     3,
		ReplicationFactor: 1,
		ConfigEntries:     []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: "123456"}},
	}}})
	check(err)
	report := AdminReport{Created: created.Errors[topic] == nil}
	report.Partitions = kafkaGoPartitions(client, topic)
	report.Listed = report.Partitions > 0
	described, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{
			ResourceType: kafka.ResourceTypeTopic,
			ResourceName: topic,
			ConfigNames:  []string{"retention.ms"},
		}},
	})
	check(err)
	report.RetentionMs = described.Resources[0].ConfigEntries[0].ConfigValue
	_, err = client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	check(err)
	// A transport answers from what it has heard before; another one asks.
	other := &kafka.Client{Addr: kafka.TCP(bootstrap), Transport: &kafka.Transport{}}
	report.Gone = kafkaGoPartitions(other, topic) == 0
	return report
}

// kafkaGoPartitions counts the partitions of a topic in the list of all topics; 0 if it is not there.
func kafkaGoPartitions(client *kafka.Client, topic string) int {
	metadata, err := client.Metadata(context.Background(), &kafka.MetadataRequest{})
	check(err)
	for _, found := range metadata.Topics {
		if found.Name == topic {
			return len(found.Partitions)
		}
	}
	return 0
}
