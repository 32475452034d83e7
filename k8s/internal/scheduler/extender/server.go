package extender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// TLS are the files with which a server answers by HTTPS. The zero value means HTTP.
type TLS struct {
	Cert, Key string
	// ClientCA signs the certificates of those who may ask; everybody may if it is empty.
	ClientCA string
}

// config returns nil for HTTP. The certificate is read again for each connection, so that a renewed
// one counts; a scheduler keeps its connection.
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
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve the scheduler: %w", err)
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	defer context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(end) // questions that take longer are broken off
		server.Close()
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the scheduler: %w", err)
	}
	return nil
}
