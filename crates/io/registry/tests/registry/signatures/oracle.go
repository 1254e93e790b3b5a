// Signs and verifies messages with Go's openpgp, as OpenShift's operator in Go does.
//
//	oracle sign KEY HASH text|binary < DATA > MESSAGE
//	oracle verify KEYRING MESSAGE...
//
// verify prints a line for each message: "good FINGERPRINT" or "bad REASON".
package main

import (
	"bytes"
	"crypto"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/crypto/openpgp"
	"golang.org/x/crypto/openpgp/packet"
)

var hashes = map[string]crypto.Hash{
	"SHA256": crypto.SHA256,
	"SHA384": crypto.SHA384,
	"SHA512": crypto.SHA512,
}

func keyring(path string) (openpgp.EntityList, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(file)); err == nil {
		return keys, nil
	}
	return openpgp.ReadKeyRing(bytes.NewReader(file))
}

func sign(key, hash, mode string) error {
	keys, err := keyring(key)
	if err != nil {
		return err
	}
	hints := &openpgp.FileHints{IsBinary: mode == "binary"}
	message, err := openpgp.Sign(os.Stdout, keys[0], hints, &packet.Config{DefaultHash: hashes[hash]})
	if err != nil {
		return err
	}
	if _, err := io.Copy(message, os.Stdin); err != nil {
		return err
	}
	return message.Close()
}

// verify fails where the operator does: it ignores the expiry of keys, but not of signatures.
func verify(keys openpgp.EntityList, message io.Reader) (string, error) {
	details, err := openpgp.ReadMessage(message, keys, nil, nil)
	if err != nil {
		return "", err
	}
	if !details.IsSigned {
		return "", errors.New("not signed")
	}
	if _, err := io.ReadAll(details.UnverifiedBody); err != nil {
		return "", err
	}
	switch {
	case details.SignatureError != nil:
		return "", details.SignatureError
	case details.SignedBy == nil:
		return "", errors.New("unknown key")
	case details.Signature == nil && details.SignatureV3 == nil:
		return "", errors.New("no signature")
	}
	if signature := details.Signature; signature != nil && signature.SigLifetimeSecs != nil {
		lifetime := time.Duration(*signature.SigLifetimeSecs) * time.Second
		if time.Now().After(signature.CreationTime.Add(lifetime)) {
			return "", errors.New("signature expired")
		}
	}
	return fmt.Sprintf("%X", details.SignedBy.PublicKey.Fingerprint), nil
}

func run(arguments []string) error {
	if len(arguments) == 4 && arguments[0] == "sign" {
		return sign(arguments[1], arguments[2], arguments[3])
	}
	if len(arguments) < 2 || arguments[0] != "verify" {
		return errors.New("wrong arguments")
	}
	keys, err := keyring(arguments[1])
	if err != nil {
		return err
	}
	for _, path := range arguments[2:] {
		message, err := os.Open(path)
		if err != nil {
			return err
		}
		signer, err := verify(keys, message)
		message.Close()
		if err != nil {
			fmt.Printf("bad %q\n", err.Error())
		} else {
			fmt.Printf("good %s\n", signer)
		}
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
