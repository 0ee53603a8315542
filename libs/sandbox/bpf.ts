/**
 * A small assembler for classic BPF, the language of seccomp filters.
 *
 * A program is written forwards; jumps name labels that stand further down, which is the only direction
 * classic BPF can jump in. The result is the packed array of `struct sock_filter` that the kernel reads
 * (linux/filter.h): code u16, jump-if-true u8, jump-if-false u8, operand u32, little endian.
 */
export class BpfProgram {
  private readonly instructions: Instruction[] = [];
  private readonly labels = new Map<string, number>();

  /** Loads 32 bits at a byte offset of `struct seccomp_data` into the accumulator. */
  load(offset: number): this {
    return this.add({ code: Code.load, operand: offset });
  }

  jumpIfEqual(value: number, label: string): this {
    return this.add({ code: Code.jumpIfEqual, operand: value, whenTrue: label });
  }

  jumpUnlessEqual(value: number, label: string): this {
    return this.add({ code: Code.jumpIfEqual, operand: value, whenFalse: label });
  }

  jumpIfAbove(value: number, label: string): this {
    return this.add({ code: Code.jumpIfAbove, operand: value, whenTrue: label });
  }

  /** Jumps when the accumulator has at least one bit of the mask. */
  jumpIfAnyBit(mask: number, label: string): this {
    return this.add({ code: Code.jumpIfAnyBit, operand: mask, whenTrue: label });
  }

  /** Ends the program with a verdict. */
  return(verdict: number): this {
    return this.add({ code: Code.return, operand: verdict });
  }

  /** Names the place of the next instruction. */
  label(name: string): this {
    if (this.labels.has(name)) throw new Error(`BPF label ${name} is defined twice`);
    this.labels.set(name, this.instructions.length);
    return this;
  }

  assemble(): Buffer {
    const bytes = Buffer.alloc(this.instructions.length * INSTRUCTION_BYTES);
    for (const [index, { code, operand, whenTrue, whenFalse }] of this.instructions.entries()) {
      const at = index * INSTRUCTION_BYTES;
      bytes.writeUInt16LE(code, at);
      bytes.writeUInt8(this.distance(index, whenTrue), at + 2);
      bytes.writeUInt8(this.distance(index, whenFalse), at + 3);
      bytes.writeUInt32LE(operand >>> 0, at + 4);
    }
    return bytes;
  }

  private add(instruction: Instruction): this {
    this.instructions.push(instruction);
    return this;
  }

  /** How many instructions a jump skips; without a label it falls through to the next one. */
  private distance(from: number, label: string | undefined): number {
    if (label === undefined) return 0;
    const to = this.labels.get(label);
    if (to === undefined) throw new Error(`BPF label ${label} is not defined`);
    const skipped = to - from - 1;
    if (skipped < 0 || skipped > LONGEST_JUMP) throw new Error(`BPF label ${label} is out of reach`);
    return skipped;
  }
}

interface Instruction {
  code: number;
  operand: number;
  whenTrue?: string;
  whenFalse?: string;
}

const INSTRUCTION_BYTES = 8;
const LONGEST_JUMP = 255;

/** Instruction class, size or comparison, and operand source, or-ed together as in linux/bpf_common.h. */
const Code = {
  load: 0x20, // BPF_LD  | BPF_W | BPF_ABS
  jumpIfEqual: 0x15, // BPF_JMP | BPF_JEQ | BPF_K
  jumpIfAbove: 0x25, // BPF_JMP | BPF_JGT | BPF_K
  jumpIfAnyBit: 0x45, // BPF_JMP | BPF_JSET | BPF_K
  return: 0x06, // BPF_RET | BPF_K
} as const;
