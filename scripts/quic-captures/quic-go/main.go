// Runs a quic-go client and server over loopback and writes what each stream had, as
// aioquic_capture.py does.
//
//	quic-go CASE PORT KEYLOG TRUTH
//
// The client has connection ids of no bytes, as quic-go's clients have; after a hundred
// packets each side updates its keys of itself.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	mathrand "math/rand"
	"net"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

type row struct {
	Connection string `json:"connection"`
	ID         int64  `json:"id"`
	From       string `json:"from"`
	Bytes      int    `json:"bytes"`
	SHA256     string `json:"sha256"`
	IsWhole    bool   `json:"is_whole"`
}

var (
	rows  []row
	mutex sync.Mutex
)

func add(id int64, from string, data []byte) {
	sum := sha256.Sum256(data)
	mutex.Lock()
	defer mutex.Unlock()
	rows = append(rows, row{"", id, from, len(data), hex.EncodeToString(sum[:]), true})
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func certificate() tls.Certificate {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		DNSNames:     []string{"localhost"},
	}
	made := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	return tls.Certificate{Certificate: [][]byte{made}, PrivateKey: key}
}

func random(source *mathrand.Rand, most int) []byte {
	data := make([]byte, 1+source.Intn(most))
	source.Read(data)
	return data
}

func serve(conn *quic.Conn, source *mathrand.Rand, most int) {
	for {
		stream, err := conn.AcceptStream(context.Background())
		if err != nil {
			return
		}
		data := must(io.ReadAll(stream))
		add(int64(stream.StreamID()), "client", data)
		answer := random(source, most)
		must(stream.Write(answer))
		stream.Close()
		add(int64(stream.StreamID()), "server", answer)
	}
}

func main() {
	name, address := os.Args[1], "127.0.0.1:"+os.Args[2]
	keylog := must(os.Create(os.Args[3]))
	source := mathrand.New(mathrand.NewSource(int64(len(name))))
	most, streams := 4_000, 3
	version := quic.Version1
	switch name {
	case "plain":
	case "v2":
		version = quic.Version2
	case "key-updates":
		most, streams = 60_000, 6
	default:
		log.Fatalf("no case %q: plain, v2, key-updates", name)
	}
	own := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{"hq"}}
	both := &quic.Config{Versions: []quic.Version{version}}
	socket := must(net.ListenPacket("udp", address))
	transport := &quic.Transport{Conn: socket.(*net.UDPConn)}
	listener := must(transport.Listen(own, both))
	go func() {
		for {
			conn, err := listener.Accept(context.Background())
			if err != nil {
				return
			}
			go serve(conn, source, most)
		}
	}()
	client := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"hq"}, KeyLogWriter: keylog}
	conn := must(quic.DialAddr(context.Background(), address, client, both))
	for range streams {
		stream := must(conn.OpenStreamSync(context.Background()))
		data := bytes.Repeat([]byte(fmt.Sprint(stream.StreamID())), 1+source.Intn(most)/4)
		must(stream.Write(data))
		stream.Close()
		must(io.ReadAll(stream))
	}
	conn.CloseWithError(0, "")
	time.Sleep(300 * time.Millisecond)
	sort.Slice(rows, func(a, b int) bool {
		return rows[a].ID < rows[b].ID || rows[a].ID == rows[b].ID && rows[a].From < rows[b].From
	})
	must(0, os.WriteFile(os.Args[4], must(json.MarshalIndent(rows, "", " ")), 0o600))
}
