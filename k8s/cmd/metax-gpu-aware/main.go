// SPDX-License-Identifier: Apache-2.0

// Command metax-gpu-aware is a scheduler extender: kube-scheduler asks it which nodes suit a
// pod with MetaX GPUs.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/logging"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/extender"
	"github.com/metax-ctk/container-toolkit/k8s/internal/status"
)

// buildVersion is set by the linker.
var buildVersion = "unknown"

func main() { program.Main(newApp(), buildVersion) }

func newApp() *cli.App {
	return &cli.App{
		Name:            protocol.Aware,
		Usage:           "tell kube-scheduler which nodes suit a pod with MetaX GPUs",
		HideHelpCommand: true,
		Flags:           flags(),
		Action:          run,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return err },
	}
}

func flags() []cli.Flag {
	env := func(name string) []string { return []string{"METAX_GPU_AWARE_" + name} }
	return append([]cli.Flag{
		&cli.StringFlag{
			Name: "address", Value: ":8080", EnvVars: env("ADDRESS"),
			Usage: "address on which schedulers ask: POST /filter and /prioritize, and for Volcano /volcano/predicate and /volcano/prioritize",
		},
		&cli.StringFlag{
			Name: "tls-cert", EnvVars: env("TLS_CERT"),
			Usage: "file with the certificate for HTTPS; empty for HTTP",
		},
		&cli.StringFlag{Name: "tls-key", EnvVars: env("TLS_KEY"), Usage: "file with the key of the certificate"},
		&cli.StringFlag{
			Name: "tls-client-ca", EnvVars: env("TLS_CLIENT_CA"),
			Usage: "file with the CA that signs the scheduler's certificate; empty: everybody may ask",
		},
		&cli.StringFlag{
			Name: "metrics-address", Value: ":8081", EnvVars: env("METRICS_ADDRESS"),
			Usage: "address for metrics and probes; empty for none",
		},
		&cli.Int64Flag{
			Name: "max-body", Value: foreign.MaxQuestion, EnvVars: env("MAX_BODY"),
			Usage: "bytes of the largest question; those of Volcano are large, and with nodeCacheCapable false kube-scheduler's",
		},
		&cli.StringFlag{
			Name: "resource", Value: protocol.Resource, EnvVars: env("RESOURCE"),
			Usage: "name of the resource of whole GPUs",
		},
		&cli.StringFlag{
			Name: "policy", Value: key.Spread.String(), EnvVars: env("POLICY"),
			Usage: "how nodes are compared for pods that do not say: " + alloc.PolicyWords,
		},
		&cli.StringFlag{
			Name: "namespace", Value: protocol.Namespace, EnvVars: env("NAMESPACE"),
			Usage: "namespace of the ConfigMap",
		},
		&cli.StringFlag{
			Name: "config-map", EnvVars: env("CONFIG_MAP"),
			Usage: "name of the ConfigMap with scoreWeight and lossWeight; empty for none",
		},
		&cli.StringSliceFlag{
			Name: "scheduler", EnvVars: env("SCHEDULER"),
			Usage: "schedulerName of pods that are placed with a question; an Event about a pod says that there was none",
		},
		&cli.StringFlag{
			Name: "kubeconfig", EnvVars: env("KUBECONFIG"),
			Usage: "file to reach the API server with; empty in a pod",
		},
	}, logging.Flags(protocol.Aware)...)
}

// options are the values of flags that need a check.
type options struct {
	policy key.Policy
	tls    extender.TLS
}

func readOptions(c *cli.Context) (o options, err error) {
	if c.Args().Present() {
		return o, fmt.Errorf("%q is an argument; there are only options", c.Args().First())
	}
	if o.policy, err = alloc.ParsePolicy(c.String("policy")); err != nil {
		return o, fmt.Errorf("--policy: %w", err)
	}
	if c.Int64("max-body") < 1 {
		return o, fmt.Errorf("--max-body %d: want a number of bytes above 0", c.Int64("max-body"))
	}
	o.tls = extender.TLS{Cert: c.String("tls-cert"), Key: c.String("tls-key"), ClientCA: c.String("tls-client-ca")}
	if (o.tls.Cert == "") != (o.tls.Key == "") || (o.tls.ClientCA != "" && o.tls.Cert == "") {
		return o, errors.New("HTTPS needs both --tls-cert and --tls-key")
	}
	return o, nil
}

func run(c *cli.Context) error {
	o, err := readOptions(c)
	if err != nil {
		return err
	}
	log, closer, err := logging.New(c, protocol.Aware, c.App.Writer)
	if err != nil {
		return err
	}
	defer closer.Close()
	client, err := client(c.String("kubeconfig"))
	if err != nil {
		return err
	}
	return serve(c, o, client, log)
}

// serve follows the cluster and answers until the context of c ends.
func serve(c *cli.Context, o options, client corev1client.CoreV1Interface, log *slog.Logger) error {
	ctx, stop := context.WithCancelCause(c.Context)
	defer stop(nil)
	cluster := extender.NewCluster(corev1.ResourceName(c.String("resource")), o.policy)
	registry := prometheus.NewRegistry()
	metrics := extender.NewMetrics(registry, cluster)
	questions := extender.NewQuestions(c.StringSlice("scheduler"))
	cluster.Placed = questions.Place
	e := &extender.Extender{
		Cluster: cluster, Questions: questions, MaxBody: c.Int64("max-body"), Log: log,
		Metrics: metrics,
	}
	reporter := &extender.Reporter{Client: client, Namespace: c.String("namespace"), Metrics: metrics, Log: log}
	var running sync.WaitGroup
	follower := &extender.Follower{Cluster: cluster, Weigh: func(data map[string]string, over []string) {
		w, problems := protocol.ParseWeights(data)
		for _, problem := range problems {
			log.Warn("the ConfigMap with the weights has a mistake", "name", c.String("config-map"), "problem", problem)
		}
		log.Info("weights", "score", w.Score, "loss", w.Loss, "edited", over)
		metrics.SetConfigProblems(len(problems))
		if len(problems) > 0 {
			running.Go(func() { reporter.Weights(ctx, c.String("namespace"), c.String("config-map"), problems, time.Now()) })
			return // the last good weights stay; after a start without good ones, the policy decides
		}
		e.Weigh(w)
	}}
	if len(c.StringSlice("scheduler")) > 0 {
		follower.Share = questions.Share
	}
	e.Ready = follower.Ready
	running.Go(func() { follower.Run(ctx, client, c.String("namespace"), c.String("config-map")) })
	running.Go(func() { reporter.Run(ctx, cluster, questions) })
	running.Go(func() { stop(extender.Serve(ctx, c.String("address"), o.tls, e.Handler())) })
	if address := c.String("metrics-address"); address != "" {
		running.Go(func() {
			if err := status.Serve(ctx, address, registry, follower.Ready); err != nil {
				log.Error("there are no metrics and no probes", "reason", err.Error())
			}
		})
	}
	log.Info("serving the scheduler", "address", c.String("address"), "tls", o.tls.Cert != "")
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// client returns the client of the API server of kubeconfig, or of the pod's cluster if that
// is empty.
func client(kubeconfig string) (corev1client.CoreV1Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	config.ContentType = runtime.ContentTypeProtobuf // lists of all nodes and pods are large
	return corev1client.NewForConfig(config)
}
