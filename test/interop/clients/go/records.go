// What the Go clients share: the records that the test wrote into a file, and the digest of what was read. A record is
// key, value, number of headers, then name and value of each: 4 bytes of length (-1 is null), then bytes.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"os"
)

// Header is a header of a record.
type Header struct {
	Name  string
	Value []byte
}

// Record is a record as the file has it.
type Record struct {
	Key, Value []byte
	Headers    []Header
}

// LoadRecords reads all records of the file.
func LoadRecords(path string) []Record {
	data, err := os.ReadFile(path)
	check(err)
	at := 0
	integer := func() int {
		at += 4
		return int(int32(binary.BigEndian.Uint32(data[at-4:])))
	}
	blob := func() []byte {
		size := integer()
		if size < 0 {
			return nil
		}
		at += size
		return data[at-size : at : at]
	}
	var records []Record
	for at < len(data) {
		record := Record{Key: blob(), Value: blob()}
		for left := integer(); left > 0; left-- {
			record.Headers = append(record.Headers, Header{string(blob()), blob()})
		}
		records = append(records, record)
	}
	return records
}

// Digest sums records as they are read: offset, then the record as the file has it.
type Digest struct {
	hash  hash.Hash
	Count int64
}

// NewDigest returns an empty digest.
func NewDigest() *Digest { return &Digest{hash: sha256.New()} }

func (digest *Digest) integer(number int) {
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], uint32(int32(number)))
	digest.hash.Write(bytes[:])
}

func (digest *Digest) blob(content []byte) {
	if content == nil {
		digest.integer(-1)
		return
	}
	digest.integer(len(content))
	digest.hash.Write(content)
}

// Add takes the next record.
func (digest *Digest) Add(offset int64, record Record) {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], uint64(offset))
	digest.hash.Write(bytes[:])
	digest.blob(record.Key)
	digest.blob(record.Value)
	digest.integer(len(record.Headers))
	for _, header := range record.Headers {
		digest.blob([]byte(header.Name))
		digest.blob(header.Value)
	}
	digest.Count++
}

// Print writes the result for the test.
func (digest *Digest) Print() {
	fmt.Printf("{\"count\":%d,\"digest\":\"%x\"}\n", digest.Count, digest.hash.Sum(nil))
}

// AdminReport is what a client's administration saw of a topic that it made and removed.
type AdminReport struct {
	Created     bool   `json:"created"`
	Listed      bool   `json:"listed"`
	Partitions  int    `json:"partitions"`
	RetentionMs string `json:"retentionMs"`
	Gone        bool   `json:"gone"`
}

// Print writes the result for the test.
func (report AdminReport) Print() { check(json.NewEncoder(os.Stdout).Encode(report)) }
