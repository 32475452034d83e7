// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// certificate writes a certificate that signs itself, and its key.
func certificate(t *testing.T) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certPEM, keyPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for path, text := range map[string][]byte{cert: certPEM, key: keyPEM} {
		testfile.Write(t, path, text, 0o600)
	}
	if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

func TestServeTLS(t *testing.T) {
	cert, key, pair := certificate(t)
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	go func() { ended <- Serve(ctx, address, TLS{cert, key, cert}, hello) }()
	get := func(own ...tls.Certificate) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: own}}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get("https://" + address)
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	for range 100 {
		if err = get(pair); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Error(err)
	}
	if err := get(); err == nil {
		t.Error("somebody without a certificate may ask")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeErrors(t *testing.T) {
	cert, key, _ := certificate(t)
	for name, c := range map[string]struct {
		address string
		tls     TLS
	}{
		"address":       {"nowhere:x", TLS{}},
		"no key":        {"127.0.0.1:0", TLS{Cert: cert}},
		"not a key":     {"127.0.0.1:0", TLS{Cert: cert, Key: cert}},
		"no CA":         {"127.0.0.1:0", TLS{cert, key, cert + ".absent"}},
		"CA of nothing": {"127.0.0.1:0", TLS{cert, key, key}},
	} {
		if err := Serve(t.Context(), c.address, c.tls, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
