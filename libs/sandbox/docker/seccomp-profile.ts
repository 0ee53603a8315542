/**
 * The system call filter of `../seccomp.ts`, as the JSON that Docker takes (its `seccomp=` option; the names are those
 * of libseccomp).
 *
 * Docker's own format cannot say "all but these" of one argument, so this says what is allowed instead, and all else
 * answers EPERM. What the kernel learned after this list was made answers ENOSYS, which runc adds. The two ioctls on
 * terminals that the other filter refuses are not looked at: nothing in a container has a terminal.
 */
export function seccompProfile(): string {
  return JSON.stringify({
    defaultAction: ERRNO,
    defaultErrnoRet: EPERM,
    // No sub-architectures: a 32-bit entry is not known and kills.
    archMap: [
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
    ],
    syscalls: [
      { names: ordinary, action: ALLOW },
      // Its flags stand behind a pointer that a filter cannot follow; libc falls back to clone.
      { names: ['clone3'], action: ERRNO, errnoRet: ENOSYS },
      // Threads and processes, but no namespaces.
      { names: ['clone'], action: ALLOW, args: [test(0, 'MASKED_EQ', CLONE_NEW_NAMESPACES, 0)] },
      // Linux itself, and the question which it is.
      ...[0, 0xffff_ffff].map(value => ({
        names: ['personality'],
        action: ALLOW,
        args: [test(0, 'EQ', value)],
      })),
      ...socketRules(),
    ],
  });
}

/** Families that a network namespace confines; of AF_NETLINK only routing. */
function socketRules(): Rule[] {
  const names = ['socket', 'socketpair'];
  const noFamily = { names, action: ERRNO, errnoRet: EAFNOSUPPORT };
  const others = Array.from({ length: AF_NETLINK }, (_, family) => family).filter(
    family => !families.includes(family),
  );
  return [
    ...families.map(family => ({ names, action: ALLOW, args: [test(0, 'EQ', family)] })),
    { names, action: ALLOW, args: [test(0, 'EQ', AF_NETLINK), test(2, 'EQ', NETLINK_ROUTE)] },
    { ...noFamily, args: [test(0, 'EQ', AF_NETLINK), test(2, 'NE', NETLINK_ROUTE)] },
    { ...noFamily, args: [test(0, 'GT', AF_NETLINK)] },
    ...others.map(family => ({ ...noFamily, args: [test(0, 'EQ', family)] })),
  ];
}

interface Rule {
  names: string[];
  action: string;
  errnoRet?: number;
  args?: unknown[];
}

const test = (index: number, operator: string, value: number, valueTwo = 0) => ({
  index,
  value,
  valueTwo,
  op: `SCMP_CMP_${operator}`,
});

const ALLOW = 'SCMP_ACT_ALLOW';
const ERRNO = 'SCMP_ACT_ERRNO';
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h). */
const CLONE_NEW_NAMESPACES = 0x7e02_0000;
/** AF_UNIX, AF_INET, AF_INET6. */
const families = [1, 2, 10];
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;

/** What ordinary programs call, up to Linux 6.17; a name that an engine does not know it passes over. */
const ordinary = `
  accept accept4 access alarm arch_prctl bind brk cachestat capget capset chdir chmod chown clock_getres
  clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create
  epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit
  exit_group faccessat faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl
  fdatasync fgetxattr file_getattr file_setattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs
  fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_robust_list
  get_thread_area getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername
  getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid
  getsockname getsockopt gettid gettimeofday getuid getxattr getxattrat inotify_add_watch inotify_init
  inotify_init1 inotify_rm_watch ioctl io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit
  ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown
  lgetxattr link linkat listen listxattr listxattrat llistxattr lremovexattr lseek lsetxattr
  lsm_get_self_attr lsm_list_modules lstat madvise map_shadow_stack membarrier memfd_create memfd_secret
  mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect mq_getsetattr mq_notify
  mq_timedreceive mq_timedsend mq_unlink mremap mseal msgctl msgget msgrcv msgsnd msync munlock munlockall
  munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc
  pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 pselect6 pwrite64 pwritev
  pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages removexattr
  removexattrat rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending
  rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
  sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
  sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler
  sched_yield seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_robust_list
  set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid
  setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr setxattrat shmat shmctl shmdt
  shmget shutdown sigaltstack signalfd signalfd4 splice stat statfs statx symlink symlinkat sync
  sync_file_range sync_file_range2 syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun
  timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask
  uname unlink unlinkat utime utimensat utimes vfork vmsplice wait4 waitid write writev
`
  .trim()
  .split(/\s+/);
