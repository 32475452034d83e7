# The part of mx-smi that makes and removes slices: it changes the files by which
# the host tree around the tool shows them. It is not how a driver works: there,
# writing to one of them would do it.

# put TEXT FILE
put() {
	{ printf '%s\n' "$1" >"$2"; } 2>/dev/null || fail "Sysfs error: $2 cannot be written"
}

# get FILE sets got to its first line.
get() {
	got=
	[ ! -r "$1" ] || read -r got <"$1"
}

# change FILE DIFFERENCE adds to a number.
change() {
	get "$1"
	put "$((${got:-0} + $2))" "$1"
}

is_target() {
	case $target in
	"$1" | "$4" | "$5") dir=$root/sys/bus/pci/devices/$4 bdf=$4 memory=$7 ;;
	esac
}

# whole_number TEXT WHAT fails for anything else than digits.
whole_number() {
	case $1 in
	'' | *[!0-9]* | ???????*) fail "$2 $1 is not a number" ;;
	esac
}

enable() {
	get "$dir/sriov_numvfs"
	[ "${got:-0}" = 0 ] || fail 'the GPU has virtual functions'
	put sgpu "$dir/model"
	[ ! -d "$dir/sgpu" ] || return 0
	mkdir "$dir/sgpu" 2>/dev/null || fail "Sysfs error: $dir/sgpu cannot be made"
	put 0 "$dir/sgpu/sched_class"
	put 20 "$dir/sgpu/sched_timeslice"
	: >"$dir/sgpu/create"
	: >"$dir/sgpu/remove"
	put 16 "$dir/sgpu/available_devcnt"
	put 100 "$dir/sgpu/available_sched_quota"
	put "$memory" "$dir/sgpu/available_vram_quota"
	put "$memory" "$dir/sgpu/total_vram_quota"
}

disable() {
	[ "$parts" = 0 ] || fail 'the GPU has slices'
	put native "$dir/model"
	rm -rf "$dir/sgpu" || fail "Sysfs error: $dir/sgpu cannot be removed"
}

# make_node ID PART makes the layout node of a slice, which has its UUID. A tree
# without a layout has it beside the slice.
make_node() {
	if [ ! -d "$nodes" ]; then
		put "GPU-$1" "$2/unique_id"
		return
	fi
	number=8192 id=$1
	while [ -d "$nodes/$number" ]; do
		number=$((number + 1))
	done
	use=$dir/smi/${2##*/}
	mkdir "$nodes/$number" "$use" 2>/dev/null || fail "Sysfs error: $nodes/$number cannot be made"
	put $((10000 + number)) "$nodes/$number/gid"
	put sgpu-sub-dev "$nodes/$number/type"
	put "$bdf" "$nodes/$number/location"
	put "$id" "$nodes/$number/unique_id"
	put 1 "$nodes/$number/active"
	put "${2##*/sgpu}" "$nodes/$number/local_id"
	put "$number" "$2/node_id"
	put $((10000 + number)) "$2/gpu_id"
	printf 'total %s\nused 0\nfree %s\n' $((mib * 1024)) $((mib * 1024)) >"$use/meminfo"
	put 0 "$use/utilization"
	put 0 "$use/overrun"
}

create() {
	case $vram in
	*G) mib=${vram%G} unit=1024 ;;
	*M) mib=${vram%M} unit=1 ;;
	*) mib=$vram unit=1024 ;;
	esac
	whole_number "$mib" 'memory size'
	whole_number "$compute" 'compute share'
	whole_number "$copies" 'number of slices'
	mib=$((mib * unit))
	[ "$mib" -gt 0 ] && [ "$compute" -gt 0 ] && [ "$compute" -le 100 ] || fail 'a size is out of range'
	get "$dir/sgpu/available_devcnt"
	[ "$copies" -le "${got:-0}" ] || fail 'no more slices fit the GPU'
	get "$dir/sgpu/available_vram_quota"
	[ $((mib * copies)) -le "${got:-0}" ] || fail "no $mib MiB of memory are left"
	get "$dir/sgpu/sched_class"
	if [ "$got" = 1 ]; then
		get "$dir/sgpu/available_sched_quota"
		[ $((compute * copies)) -le "${got:-0}" ] || fail "no $compute percent of compute are left"
	fi
	k=0
	while [ "$copies" -gt 0 ]; do
		while [ -d "$dir/sgpu/sgpu$k" ]; do
			k=$((k + 1))
		done
		mkdir "$dir/sgpu/sgpu$k" 2>/dev/null || fail "Sysfs error: $dir/sgpu/sgpu$k cannot be made"
		get /proc/sys/kernel/random/uuid
		make_node "$got" "$dir/sgpu/sgpu$k"
		put "$alias" "$dir/sgpu/sgpu$k/alias"
		put "$mib" "$dir/sgpu/sgpu$k/vram_quota"
		put "$compute" "$dir/sgpu/sgpu$k/sched_quota"
		put 0 "$dir/sgpu/sgpu$k/sched_priority"
		put "$k" "$dir/sgpu/sgpu$k/minor"
		put 1 "$dir/sgpu/sgpu$k/online"
		change "$dir/sgpu/available_devcnt" -1
		change "$dir/sgpu/available_vram_quota" "-$mib"
		change "$dir/sgpu/available_sched_quota" "-$compute"
		printf 'SGPU#%s created\n' "$k"
		copies=$((copies - 1))
	done
}

remove() {
	whole_number "$id" 'sGPU'
	part=$dir/sgpu/sgpu$id
	[ -d "$part" ] || fail "there is no SGPU#$id"
	get "$part/sched_quota"
	share=${got:-0}
	get "$part/vram_quota"
	mib=${got:-0}
	get "$part/node_id"
	if [ -n "$got" ]; then
		rm -rf "$nodes/$got" "$dir/smi/sgpu$id" || fail "Sysfs error: $nodes/$got cannot be removed"
	fi
	rm -rf "$part" || fail "Sysfs error: $part cannot be removed"
	change "$dir/sgpu/available_devcnt" 1
	change "$dir/sgpu/available_vram_quota" "$mib"
	change "$dir/sgpu/available_sched_quota" "$share"
	printf 'SGPU#%s removed\n' "$id"
}

sched_class() {
	case $class in
	[012]) ;;
	*) fail "there is no scheduling class $class" ;;
	esac
	get "$dir/sgpu/sched_class"
	[ "$parts" = 0 ] || [ "$got" = "$class" ] || fail 'the GPU has slices of another class'
	put "$class" "$dir/sgpu/sched_class"
}

count_part() {
	parts=$((parts + 1))
}

# sgpu OPTION… is the subcommand of that name.
sgpu() {
	[ -n "$root" ] || fail 'there is no host tree around this tool to change'
	see
	nodes=$root/sys/class/mxcd/mxcd/layout/nodes
	all=$* action= target= id= class= alias= vram=4G compute=5 copies=1 dir= memory=0 parts=0
	while [ $# -gt 0 ]; do
		case $1 in
		--enable | --disable | --create) action=$1 ;;
		-r | --remove | --set-sched-class | -i | --vram | --compute | --alias | -n)
			[ $# -gt 1 ] || fail "$1 needs a value"
			case $1 in
			-r | --remove) action=--remove id=$2 ;;
			--set-sched-class) action=$1 class=$2 ;;
			-i) target=$2 ;;
			--vram) vram=$2 ;;
			--compute) compute=$2 ;;
			--alias) alias=$2 ;;
			-n) copies=$2 ;;
			esac
			shift
			;;
		*) fail "unknown command or option: sgpu $all (mx-smi --help lists those that are simulated)" ;;
		esac
		shift
	done
	each is_target
	[ -n "$dir" ] || fail "no GPU $target: name one by -i INDEX, UUID or BDF"
	get "$dir/model"
	[ "$got" = sgpu ] || [ "$action" = --enable ] || fail 'the GPU is not in slice mode (sgpu --enable)'
	slices "${dir##*/}" count_part
	case $action in
	--enable) enable ;;
	--disable) disable ;;
	--create) create ;;
	--remove) remove ;;
	--set-sched-class) sched_class ;;
	*) fail 'sgpu: say what to do' ;;
	esac
}

