// Command oracle decodes YAML with sigs.k8s.io/yaml, for comparison with the decoder under test.
//
// Standard input: one message per input, a length as four bytes, big endian, and that many bytes.
// Standard output: one message per input in the same framing, the byte 'J' and the JSON, or the
// byte 'E' and the error.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"

	"sigs.k8s.io/yaml"
)

func decode(input []byte) (answer []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = []byte(fmt.Sprintf("Epanic: %v", cause))
		}
	}()
	json, err := yaml.YAMLToJSON(input)
	if err != nil {
		return []byte("E" + err.Error())
	}
	return append([]byte{'J'}, json...)
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		var length uint32
		if err := binary.Read(in, binary.BigEndian, &length); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		input := make([]byte, length)
		if _, err := io.ReadFull(in, input); err != nil {
			log.Fatal(err)
		}
		answer := decode(input)
		if err := binary.Write(out, binary.BigEndian, uint32(len(answer))); err != nil {
			log.Fatal(err)
		}
		if _, err := out.Write(answer); err != nil {
			log.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
