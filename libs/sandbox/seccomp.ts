import { BpfProgram } from './bpf.js';

type Architecture = 'x64' | 'arm64';

interface SeccompOptions {
  /**
   * Also refuse the calls whose memory belongs to no process' resident set (memfd, System V shared memory).
   * Needed where memory is counted by walking processes instead of by a control group.
   */
  refuseUncountedMemory?: boolean;
}

/** Tells whether a filter can be built for this machine. */
export function hasSeccompFilter(architecture: string): architecture is Architecture {
  return architecture === 'x64' || architecture === 'arm64';
}

/**
 * The system call filter of the sandbox, ready for `bwrap --seccomp`.
 *
 * It lets ordinary programs (shells, compilers, Python, Node, git) run and takes away what namespaces do not
 * confine: calls that reach into the kernel's large, privileged or young corners, into other processes, or
 * into new namespaces in which a process would hold capabilities again. Refused calls answer EPERM, as if
 * a capability were missing; calls that a program probes for and can do without answer ENOSYS.
 */
export function seccompFilter(architecture: Architecture, options: SeccompOptions = {}): Buffer {
  const column = architecture === 'x64' ? 0 : 1;
  const refusedCalls = { ...refused, ...(options.refuseUncountedMemory ? uncountedMemory : {}) };
  const program = new BpfProgram();

  // A 32-bit entry (int 0x80 on x64) numbers its calls differently, so no rule below would fit.
  program.load(OFFSET_ARCHITECTURE).jumpUnlessEqual(auditArchitecture[architecture], 'kill');

  program.load(OFFSET_NUMBER);
  // The x32 ABI shares the architecture value of x64 and marks its calls with this bit.
  if (architecture === 'x64') program.jumpIfAnyBit(X32_BIT, 'kill');
  // What the kernel learns after this list was audited does not exist here.
  program.jumpIfAbove(NEWEST_CALL, 'missing');
  // clone3 keeps its flags behind a pointer that a filter cannot follow; libc falls back to clone.
  program.jumpIfEqual(calls.clone3[column], 'missing');

  for (const numbers of Object.values(refusedCalls)) {
    const number = numbers[column];
    if (number !== undefined) program.jumpIfEqual(number, 'refuse');
  }
  for (const name of ['clone', 'ioctl', 'personality', 'socket'] as const) {
    program.jumpIfEqual(calls[name][column], name);
  }
  program.jumpIfEqual(calls.socketpair[column], 'socket');
  program.return(Verdict.allow);

  // Threads and processes, but no namespaces.
  program.label('clone').load(argument(0));
  program.jumpIfAnyBit(CLONE_NEW_NAMESPACES, 'refuse').return(Verdict.allow);

  // Typing into a terminal, pasting into a console. The kernel reads 32 bits of the command, so the filter
  // must as well: comparing all 64 lets a caller set a high bit and pass (CVE-2019-10063).
  program.label('ioctl').load(argument(1));
  program.jumpIfEqual(TIOCSTI, 'refuse').jumpIfEqual(TIOCLINUX, 'refuse').return(Verdict.allow);

  // Only Linux itself, or the question which one it is: other personalities switch off address randomisation.
  program.label('personality').load(argument(0));
  program.jumpIfEqual(PER_LINUX, 'allow').jumpIfEqual(PER_QUERY, 'allow').return(Verdict.refuse);

  // Families that the network namespace confines. AF_VSOCK would reach the hypervisor from inside of it;
  // others (AF_ALG, AF_PACKET, AF_BLUETOOTH …) are rarely used, often broken kernel code.
  program.label('socket').load(argument(0));
  for (const family of [AF_UNIX, AF_INET, AF_INET6]) program.jumpIfEqual(family, 'allow');
  program.jumpUnlessEqual(AF_NETLINK, 'no-family');
  program.load(argument(2)).jumpIfEqual(NETLINK_ROUTE, 'allow');

  program.label('no-family').return(Verdict.noFamily);
  program.label('allow').return(Verdict.allow);
  program.label('refuse').return(Verdict.refuse);
  program.label('missing').return(Verdict.missing);
  program.label('kill').return(Verdict.kill);
  return program.assemble();
}

/** struct seccomp_data: int nr; u32 arch; u64 instruction_pointer; u64 args[6]. */
const OFFSET_NUMBER = 0;
const OFFSET_ARCHITECTURE = 4;
/** The low half of an argument; both architectures are little endian. */
const argument = (index: number): number => 16 + 8 * index;

/** linux/seccomp.h; an errno stands in the low 16 bits of SECCOMP_RET_ERRNO. */
const RET_ERRNO = 0x0005_0000;
const Verdict = {
  allow: 0x7fff_0000,
  kill: 0x8000_0000,
  refuse: RET_ERRNO | 1, // EPERM
  missing: RET_ERRNO | 38, // ENOSYS
  noFamily: RET_ERRNO | 97, // EAFNOSUPPORT
} as const;

/** linux/audit.h: ELF machine, 64 bit, little endian. */
const auditArchitecture: Record<Architecture, number> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
const X32_BIT = 0x4000_0000;
/** file_setattr, Linux 6.17; from 424 on both architectures number alike. */
const NEWEST_CALL = 469;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h). */
const CLONE_NEW_NAMESPACES = 0x7e02_0000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const PER_LINUX = 0;
const PER_QUERY = 0xffff_ffff;
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
const NETLINK_ROUTE = 0;

/** Numbers of a call on x64 and on arm64; a missing number means that the architecture lacks the call. */
type Numbers = readonly [x64: number | undefined, arm64?: number];

/** Calls that are judged by their arguments. */
const calls = {
  clone: [56, 220],
  clone3: [435, 435],
  ioctl: [16, 29],
  personality: [135, 92],
  socket: [41, 198],
  socketpair: [53, 199],
} as const;

const refused: Record<string, Numbers> = {
  // Other processes: their memory, descriptors, execution.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],

  // Namespaces, mounts and roots, by the old calls and the new.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  move_mount: [429, 429],
  mount_setattr: [442, 442],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  statmount: [457, 457],
  listmount: [458, 458],

  // Message queues outlive processes and are no part of anyone's memory.
  mq_open: [240, 180],

  // Kernel keyrings are not namespaced.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],

  // Programs and events that run inside the kernel: the richest source of its bugs.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  fanotify_init: [300, 262],
  lsm_set_self_attr: [460, 460],

  // Files by handle: opens any file of a mounted file system, past its directories.
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],

  // Memory placement, which reveals and moves what others use.
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  get_mempolicy: [239, 236],
  set_mempolicy_home_node: [450, 450],
  migrate_pages: [256, 238],
  move_pages: [279, 239],

  // Running the machine: modules, kernels, swap, quotas, clocks, names, logs, accounting.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  syslog: [103, 116],
  acct: [163, 89],
  vhangup: [153, 58],

  // Hardware ports and segment descriptors of the PC.
  iopl: [172],
  ioperm: [173],
  modify_ldt: [154],

  // Relics, kept by kernels for programs that no longer exist.
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  uselib: [134],
  ustat: [136],
  sysfs: [139],
  _sysctl: [156],
  create_module: [174],
  get_kernel_syms: [177],
  query_module: [178],
  vserver: [236],
};

/** Memory that is held by a descriptor or an identifier, so it shows in no process. */
const uncountedMemory: Record<string, Numbers> = {
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
};
