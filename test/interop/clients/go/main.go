// The Go clients: CLIENT write BOOTSTRAP TOPIC CODEC FILE | CLIENT read BOOTSTRAP TOPIC |
// CLIENT admin BOOTSTRAP TOPIC | CLIENT member BOOTSTRAP TOPIC GROUP ASSIGNOR
package main

import (
	"fmt"
	"os"
)

// Client is what each of them can do.
type Client struct {
	write func(bootstrap, topic, codec string, records []Record)
	read  func(bootstrap, topic string, digest *Digest)
	admin func(bootstrap, topic string) AdminReport
}

var clients = map[string]Client{
	"franz-go": {franzWrite, franzRead, franzAdmin},
	"sarama":   {saramaWrite, saramaRead, saramaAdmin},
	"kafka-go": {kafkaGoWrite, kafkaGoRead, kafkaGoAdmin},
}

func main() {
	if os.Args[2] == "member" {
		beMember(os.Args[1], os.Args[3:])
		return
	}
	client, mode, bootstrap, topic := clients[os.Args[1]], os.Args[2], os.Args[3], os.Args[4]
	switch mode {
	case "write":
		client.write(bootstrap, topic, os.Args[5], LoadRecords(os.Args[6]))
	case "read":
		digest := NewDigest()
		client.read(bootstrap, topic, digest)
		digest.Print()
	case "admin":
		client.admin(bootstrap, topic).Print()
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
