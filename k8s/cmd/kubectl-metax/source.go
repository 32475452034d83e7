// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
)

// source is where the objects come from: a file, or the API server.
type source struct {
	file      *objects.Objects // nil for the API server
	reader    objects.Reader
	client    *kubernetes.Clientset
	namespace string // of pods
}

// openSource returns the source that the options name.
func openSource(c *cli.Context) (source, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.String("kubeconfig")
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.String("context")}
	overrides.Context.Namespace = c.String("namespace")
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	if name := c.String("from"); name != "" {
		o, err := readFile(name)
		if err != nil {
			return source{}, err
		}
		s := source{file: &o, namespace: c.String("namespace")}
		if s.namespace == "" {
			s.namespace = corev1.NamespaceDefault
		}
		return s, nil
	}
	namespace, _, err := config.Namespace()
	if err != nil {
		return source{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	reach, err := config.ClientConfig()
	if err != nil {
		return source{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	reach.QPS, reach.Burst = 50, 100 // pages of a list
	reach.UserAgent = "kubectl-metax/" + pluginVersion()
	client, err := newClient(reach)
	if err != nil {
		return source{}, fmt.Errorf("reach the API server: %w", err)
	}
	return source{
		reader: objects.Reader{Client: client.CoreV1(), Namespace: namespace}, client: client,
		namespace: namespace,
	}, nil
}

// newClient returns a client that follows no redirect: the API server passes on those of a pod
// that it asks, and the user's token would go where they lead.
func newClient(config *rest.Config) (*kubernetes.Clientset, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return kubernetes.NewForConfigAndClient(config, client)
}

// readFile reads a file of objects; "-" is the standard input.
func readFile(name string) (objects.Objects, error) {
	in := io.ReadCloser(os.Stdin)
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // G304: the user's --file, read with the user's rights
		if err != nil {
			return objects.Objects{}, err
		}
		in = file
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, objects.MaxFile+1))
	if err != nil {
		return objects.Objects{}, fmt.Errorf("read %s: %w", name, err)
	}
	o, err := objects.Parse(text)
	if err != nil {
		return o, fmt.Errorf("read %s: %w", name, err)
	}
	return o, nil
}

// clusterObjects returns all objects but Events and ConfigMaps.
func (s source) clusterObjects(c *cli.Context) (objects.Objects, error) {
	if s.file != nil {
		return *s.file, nil
	}
	return s.reader.Cluster(c.Context)
}

// nodeObjects returns the Node of that name, with its pods and Events. It fails if the Node
// has no GPUs.
func (s source) nodeObjects(c *cli.Context, name string) (o objects.Objects, err error) {
	if s.file != nil {
		o = s.file.OfNode(name)
	} else if o, err = s.reader.Node(c.Context, name); err == nil {
		err = s.reader.AddEvents(c.Context, &o, corev1.ObjectReference{Kind: "Node", Name: name})
	}
	if apierrors.IsNotFound(err) || (err == nil && s.file != nil && len(o.Nodes) == 0) {
		return o, fmt.Errorf("node %q does not exist; all nodes with GPUs: %s top node", name, program)
	}
	if err == nil && len(o.Nodes) == 0 {
		err = fmt.Errorf("%wnode %s has no MetaX GPUs; all nodes with GPUs: %s top node", errNoGPU, name, program)
	}
	return o, err
}
