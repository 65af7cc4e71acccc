// Produces COUNT records with franz-go (idempotent, all replicas, its defaults) and reads partition 0 back without a
// group. Arguments: bootstrap, topic, count. Prints how many were read and whether they came whole and in order.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	bootstrap, topic := os.Args[1], os.Args[2]
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.AllowAutoTopicCreation(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
	)
	check(err)
	defer client.Close()
	var failed atomic.Int64
	for number := 0; number < count; number++ {
		record := &kgo.Record{
			Topic:   topic,
			Key:     fmt.Appendf(nil, "k%d", number),
			Value:   fmt.Appendf(nil, "value %d", number),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("one")}},
		}
		client.Produce(ctx, record, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Add(1)
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	check(client.Flush(ctx))
	read, inOrder := 0, true
	for read < count {
		fetches := client.PollFetches(ctx)
		for _, problem := range fetches.Errors() {
			check(problem.Err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			inOrder = inOrder && record.Offset == int64(read) &&
				string(record.Key) == fmt.Sprintf("k%d", read) &&
				string(record.Value) == fmt.Sprintf("value %d", read) &&
				len(record.Headers) == 1 && string(record.Headers[0].Value) == "one"
			read++
		})
	}
	fmt.Printf("{\"read\":%d,\"inOrder\":%t,\"failed\":%d}\n", read, inOrder, failed.Load())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
