// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// keys are the PEM files of a cluster by name. The API server trusts ca.crt, serves with
// server.{crt,key} and calls the kubelet with client.{crt,key}; accounts.key signs the tokens
// of service accounts.
func keys(addresses ...net.IP) (map[string][]byte, error) {
	authority, err := newPair(x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
	if err != nil {
		return nil, err
	}
	server, err := newPair(x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: addresses,
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority)
	if err != nil {
		return nil, err
	}
	client, err := newPair(x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		return nil, err
	}
	accounts, err := newPair(x509.Certificate{}, authority)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"ca.crt":     authority.certificate(),
		"server.crt": server.certificate(), "server.key": server.private,
		"client.crt": client.certificate(), "client.key": client.private,
		"accounts.key": accounts.private,
	}, nil
}

// pair is a certificate with its key.
type pair struct {
	*x509.Certificate
	key     *ecdsa.PrivateKey
	private []byte // key as PEM
}

// newPair completes the template and signs it by the authority, or by itself if that is nil.
func newPair(template x509.Certificate, authority *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	template.KeyUsage |= x509.KeyUsageDigitalSignature
	issuer, signer := &template, key
	if authority != nil {
		issuer, signer = authority.Certificate, authority.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, issuer, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &pair{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})}, nil
}

func (p *pair) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Raw})
}
