package scrub

import "strings"

func set(keys string) map[string]bool {
	all := map[string]bool{}
	for _, k := range strings.Fields(keys) {
		all[k] = true
	}
	return all
}

// open are the keys of engines' configurations, of CDI specs and of OCI hooks below
// which a text says nothing of whose node it is. Whoever adds one has looked at what
// people write there.
var open = set(`
	default-runtime runtimes path runtimeType exec-opts cdi-spec-dirs data-root exec-root storage-driver log-driver
	log-level log-format cgroup-parent default-cgroupns-mode default-ipc-mode group init-path pidfile features cdi containerd-snapshotter
	seccomp-profile live-restore experimental debug iptables userland-proxy no-new-privileges selinux-enabled default-ulimits

	version root state oom_score plugins io.containerd.grpc.v1.cri io.containerd.cri.v1.runtime io.containerd.cri.v1.images
	io.containerd.runtime.v1.linux io.containerd.runtime.v2.task io.containerd.internal.v1.opt containerd cri runtime_type runtime_path
	runtime_root runtime_engine BinaryName Root ConfigPath TypeUrl SystemdCgroup ShimCgroup CriuPath default_runtime_name default_runtime
	snapshotter cdi_spec_dirs enable_cdi imports disabled_plugins required_plugins bin_dir bin_dirs conf_dir address grpc ttrpc
	pod_annotations container_annotations base_runtime_spec sandboxer sandbox_mode options cni systemd_cgroup enable_selinux
	disable_apparmor disable_cgroup privileged_without_host_devices privileged_without_host_devices_all_devices_allowed
	restrict_oom_score_adj tolerate_missing_hugetlb_controller disable_hugetlb_controller device_ownership_from_security_context
	runc nvidia metax crun kata containerd-shim stream_server_address format level uid gid

	crio runtime conmon conmon_cgroup cgroup_manager hooks_dir allowed_annotations monitor_path monitor_cgroup
	monitor_exec_cgroup selinux apparmor_profile seccomp_profile cgroup_path listen api image network metrics

	containers engine hooks_dir cgroups cgroupns ipcns netns pidns userns utsns label_users label devices conmon_path
	helper_binaries_dir cgroup-manager events_logger runtime_supports_json runtime_supports_kvm runtime_supports_nocgroups

	hook when always stages has_bind_mounts commands cdiVersion kind name hostPath containerPath hookName type permissions major minor
	fileMode deviceNodes mounts hooks containerEdits additionalGids devices intelRdt timeout createdBy

	Server Client Version ApiVersion MinAPIVersion DefaultAPIVersion GitCommit GoVersion Os Arch KernelVersion BuildTime Components Platform Details
	ServerVersion OperatingSystem OSType OSVersion Architecture CgroupDriver CgroupVersion Driver DefaultRuntime Runtimes
	SecurityOptions CDISpecDirs DiscoveredDevices Source IsolationType LoggingDriver DockerRootDir InitBinary NCPU
`)

// closed are keys below which every text is private, and every key as well.
var closed = set(`
	env Env environment annotations Annotations labels Labels default_env default-env http_proxy http-proxy https-proxy no-proxy proxies
	HttpProxy HttpsProxy NoProxy registry registries registry-mirrors insecure-registries RegistryConfig auth auths auth_file
	global_auth_file credsStore credHelpers credential-helpers image_decryption key_path headers log-opts storage-opts storage-opt hosts
	dns dns-search dns-opts dns-options authorization-plugins
	tlscacert tlscert tlskey service_destinations farm farms volume_plugins secrets secret network_default params
	stream_processors args Args runtimeArgs default_sysctls swarm Swarm
`)

// words are texts that say nothing, wherever they stand.
var words = strings.Fields(`true false null auto none no yes on off info warn error debug systemd cgroupfs native json-file journald local
	io.containerd.runc.v2 overlayfs overlay2 overlay btrfs zfs runc crun nvidia metax private host shim podsandbox v1 v2`)

// plainEnv are the variables of the toolkit's own specs whose values are paths of
// the vendor's.
var plainEnv = []string{"LD_LIBRARY_PATH", "PATH", "MACA_PATH", "MACA_HOME", "MACA_CLANG_PATH", "OPAL_PREFIX", "UCX_HOME"}
