package main

import (
	"github.com/IBM/sarama"
)

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V4_1_0_0
	return config
}

func saramaEncoder(bytes []byte) sarama.Encoder {
	if bytes == nil {
		return nil
	}
	return sarama.ByteEncoder(bytes)
}

func saramaWrite(bootstrap, topic, codec string, records []Record) {
	config := saramaConfig()
	config.Producer.Compression = saramaCodecs[codec]
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewAsyncProducer([]string{bootstrap}, config)
	check(err)
	go func() {
		for _, record := range records {
			sent := &sarama.ProducerMessage{
				Topic: topic,
				Key:   saramaEncoder(record.Key),
				Value: saramaEncoder(record.Value),
			}
			for _, header := range record.Headers {
				sent.Headers = append(sent.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
			}
			producer.Input() <- sent
		}
	}()
	for range records {
		select {
		case <-producer.Successes():
		case problem := <-producer.Errors():
			check(problem)
		}
	}
	check(producer.Close())
}

func saramaRead(bootstrap, topic string, digest *Digest) {
	client, err := sarama.NewClient([]string{bootstrap}, saramaConfig())
	check(err)
	defer client.Close()
	end, err := client.GetOffset(topic, 0, sarama.OffsetNewest)
	check(err)
	consumer, err := sarama.NewConsumerFromClient(client)
	check(err)
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	check(err)
	for digest.Count < end {
		record := <-partition.Messages()
		read := Record{Key: record.Key, Value: record.Value}
		for _, header := range record.Headers {
			read.Headers = append(read.Headers, Header{string(header.Key), header.Value})
		}
		digest.Add(record.Offset, read)
	}
	check(partition.Close())
}

func saramaAdmin(bootstrap, topic string) AdminReport {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, saramaConfig())
	check(err)
	defer admin.Close()
	retention := "123456"
	detail := &sarama.TopicDetail{
		NumPartitions:     3,
		ReplicationFactor: 1,
		ConfigEntries:     map[string]*string{"retention.ms": &retention},
	}
	check(admin.CreateTopic(topic, detail, false))
	topics, err := admin.ListTopics()
	check(err)
	found, listed := topics[topic]
	report := AdminReport{Created: true, Listed: listed, Partitions: int(found.NumPartitions)}
	entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
	check(err)
	for _, entry := range entries {
		if entry.Name == "retention.ms" {
			report.RetentionMs = entry.Value
		}
	}
	check(admin.DeleteTopic(topic))
	topics, err = admin.ListTopics()
	check(err)
	_, listed = topics[topic]
	report.Gone = !listed
	return report
}
