// The Go clients as members of groups; grouping.ts says what all members have to do.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Membership is what to read, as a member of which group, and how.
type Membership struct {
	brokers                []string
	topic, group, assignor string
}

// As short as brokers allow, so that nobody waits long for a member that is gone.
const (
	sessionTimeout    = 6 * time.Second
	rebalanceTimeout  = 10 * time.Second
	heartbeatInterval = 500 * time.Millisecond
	commitInterval    = 200 * time.Millisecond
	retryInterval     = 200 * time.Millisecond
	fetchWait         = 250 * time.Millisecond
)

var members = map[string]func(ctx context.Context, membership Membership){
	"franz-go": franzMember,
	"sarama":   saramaMember,
	"kafka-go": kafkaGoMember,
}

func beMember(client string, arguments []string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	brokers := strings.Split(arguments[0], ",")
	members[client](ctx, Membership{brokers, arguments[1], arguments[2], arguments[3]})
}

func complain(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func franzMember(ctx context.Context, membership Membership) {
	options := []kgo.Opt{
		kgo.SeedBrokers(membership.brokers...),
		kgo.ConsumerGroup(membership.group),
		kgo.ConsumeTopics(membership.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(sessionTimeout),
		kgo.RebalanceTimeout(rebalanceTimeout),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.AutoCommitInterval(commitInterval),
		kgo.FetchMaxWait(fetchWait),
	}
	balancers := map[string]kgo.GroupBalancer{
		"range":              kgo.RangeBalancer(),
		"roundrobin":         kgo.RoundRobinBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
		"consumer":           kgo.StickyBalancer(),
	}
	options = append(options, kgo.Balancers(balancers[membership.assignor]))
	if membership.assignor == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	client, err := kgo.NewClient(options...)
	check(err)
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(_ string, _ int32, err error) {
			if ctx.Err() == nil {
				complain(err)
			}
		})
		fetches.EachRecord(func(record *kgo.Record) { fmt.Println(string(record.Value)) })
	}
	complain(client.CommitUncommittedOffsets(context.Background()))
	client.Close()
}

type saramaHandler struct{}

func (saramaHandler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (saramaHandler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for record := range claim.Messages() {
		fmt.Println(string(record.Value))
		session.MarkMessage(record, "")
	}
	return nil
}

func saramaMember(ctx context.Context, membership Membership) {
	config := saramaConfig()
	config.Metadata.Retry.Backoff = retryInterval
	config.Consumer.Group.Session.Timeout = sessionTimeout
	config.Consumer.Group.Heartbeat.Interval = heartbeatInterval
	config.Consumer.Group.Rebalance.Timeout = rebalanceTimeout
	config.Consumer.Group.Rebalance.Retry.Backoff = retryInterval
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = commitInterval
	strategies := map[string]sarama.BalanceStrategy{
		"range":      sarama.NewBalanceStrategyRange(),
		"roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		"sticky":     sarama.NewBalanceStrategySticky(),
	}
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[membership.assignor]}
	member, err := sarama.NewConsumerGroup(membership.brokers, membership.group, config)
	check(err)
	for ctx.Err() == nil {
		if err := member.Consume(ctx, []string{membership.topic}, saramaHandler{}); err != nil {
			complain(err)
			time.Sleep(retryInterval)
		}
	}
	complain(member.Close())
}

func kafkaGoMember(ctx context.Context, membership Membership) {
	balancers := map[string]kafka.GroupBalancer{
		"range":      kafka.RangeGroupBalancer{},
		"roundrobin": kafka.RoundRobinGroupBalancer{},
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: membership.brokers,
		GroupID: membership.group,
		Topic:   membership.topic,
		// The id that it takes by itself has blanks in it, and members are named after it.
		Dialer:            &kafka.Dialer{ClientID: "kafka-go", Timeout: rebalanceTimeout},
		GroupBalancers:    []kafka.GroupBalancer{balancers[membership.assignor]},
		StartOffset:       kafka.FirstOffset,
		SessionTimeout:    sessionTimeout,
		RebalanceTimeout:  rebalanceTimeout,
		HeartbeatInterval: heartbeatInterval,
		CommitInterval:    commitInterval,
		JoinGroupBackoff:  retryInterval,
		MaxWait:           fetchWait,
		ErrorLogger:       kafka.LoggerFunc(func(text string, values ...any) { complain(fmt.Errorf(text, values...)) }),
	})
	for {
		record, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			complain(err)
			time.Sleep(retryInterval)
			continue
		}
		fmt.Println(string(record.Value))
	}
	complain(reader.Close())
}
