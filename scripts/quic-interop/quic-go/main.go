// Transfers by quic-go, as draft-banks-quic-performance has them.
//
//	quic-go server PORT CASE
//	quic-go client PORT CASE BYTES      fails unless so many bytes come back
//
// Cases: transfer, key-update, retry, 0-rtt, migration, reset. The client has connection
// ids of no bytes, as quic-go's clients have; after a hundred packets each side updates its
// keys of itself. The server of the case reset forgets its connections after half a second.
package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func answer(conn *quic.Conn) {
	for {
		stream, err := conn.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go func() {
			request := make([]byte, 8)
			if _, err := io.ReadFull(stream, request); err != nil {
				return
			}
			io.Copy(io.Discard, stream)
			left := binary.BigEndian.Uint64(request)
			chunk := make([]byte, 1<<16)
			for left > 0 {
				now := min(left, uint64(len(chunk)))
				if _, err := stream.Write(chunk[:now]); err != nil {
					return
				}
				left -= now
			}
			stream.Close()
		}()
	}
}

func listen(address, name string) (*quic.Transport, net.PacketConn) {
	folder := os.Getenv("CERTIFICATES")
	certificate := must(tls.LoadX509KeyPair(filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")))
	own := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"perf"}}
	socket := must(net.ListenPacket("udp", address))
	transport := &quic.Transport{Conn: socket, StatelessResetKey: &quic.StatelessResetKey{7}}
	if name == "retry" {
		transport.VerifySourceAddress = func(net.Addr) bool { return true }
	}
	listener := must(transport.ListenEarly(own, &quic.Config{Allow0RTT: true}))
	go func() {
		for {
			conn, err := listener.Accept(context.Background())
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	return transport, socket
}

func serve(address, name string) {
	_, socket := listen(address, name)
	fmt.Println("listening")
	if name == "reset" {
		time.Sleep(500 * time.Millisecond)
		// Nothing is said to anybody: the next to listen does not know them.
		socket.Close()
		listen(address, name)
	}
	select {}
}

func transfer(address, name string, count uint64, tickets *tls.Config, isEarly bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	remote := must(net.ResolveUDPAddr("udp", address))
	transport := &quic.Transport{Conn: must(net.ListenPacket("udp", "127.0.0.1:0"))}
	if name == "migration" {
		transport.ConnectionIDLength = 8
	}
	conn := must(transport.DialEarly(ctx, remote, tickets, &quic.Config{}))
	if !isEarly {
		<-conn.HandshakeComplete()
	}
	stream := must(conn.OpenStreamSync(ctx))
	must(stream.Write(binary.BigEndian.AppendUint64(nil, count)))
	stream.Close()
	got := must(io.CopyN(io.Discard, stream, int64(count/2)))
	if name == "migration" {
		other := &quic.Transport{Conn: must(net.ListenPacket("udp", "127.0.0.1:0")), ConnectionIDLength: 8}
		path := must(conn.AddPath(other))
		if err := path.Probe(ctx); err != nil {
			log.Fatal(err)
		}
		if err := path.Switch(); err != nil {
			log.Fatal(err)
		}
	}
	got += must(io.Copy(io.Discard, stream))
	if uint64(got) != count {
		log.Fatalf("%d bytes came, %d were asked for", got, count)
	}
	if isEarly && !conn.ConnectionState().Used0RTT {
		log.Fatal("the server did not take what was sent in 0-RTT")
	}
	time.Sleep(100 * time.Millisecond)
	conn.CloseWithError(0, "")
}

func main() {
	address, name := "127.0.0.1:"+os.Args[2], os.Args[3]
	if os.Args[1] == "server" {
		serve(address, name)
	}
	count := must(strconv.ParseUint(os.Args[4], 10, 64))
	tickets := &tls.Config{
		InsecureSkipVerify: true,
		ServerName:         "localhost",
		NextProtos:         []string{"perf"},
		ClientSessionCache: tls.NewLRUClientSessionCache(4),
	}
	transfer(address, name, count, tickets, false)
	if name == "0-rtt" {
		transfer(address, name, count, tickets, true)
	}
}
