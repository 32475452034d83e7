// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/metax-ctk/container-toolkit/k8s/internal/webserver"
)

// TLS are the files with which a server answers by HTTPS. The zero value means HTTP.
type TLS struct {
	Cert, Key string
	// ClientCA signs the certificates of those who may ask; everybody may if it is empty.
	ClientCA string
}

// config returns nil for HTTP. The certificate is read again for each connection, so that a
// renewed one counts; a scheduler keeps its connection.
func (t TLS) config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		return &pair, err
	}
	if _, err := load(nil); err != nil {
		return nil, fmt.Errorf("read the certificate %s and its key %s: %w", t.Cert, t.Key, err)
	}
	config := &tls.Config{GetCertificate: load, MinVersion: tls.VersionTLS12}
	if t.ClientCA != "" {
		text, err := os.ReadFile(t.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("read the CA of the clients: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read the CA of the clients: %s has no certificate", t.ClientCA)
		}
	}
	return config, nil
}

// Serve answers at the address until ctx ends.
func Serve(ctx context.Context, address string, t TLS, handler http.Handler) error {
	config, err := t.config()
	if err != nil {
		return err
	}
	if err := webserver.Serve(ctx, address, config, handler); err != nil {
		return fmt.Errorf("serve the scheduler: %w", err)
	}
	return nil
}
