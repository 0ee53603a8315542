import { BpfProgram } from './bpf.js';

describe('BpfProgram', () => {
  it('packs instructions as the kernel reads them', () => {
    const program = new BpfProgram().load(4).jumpIfEqual(7, 'end').return(1).label('end').return(0x7fff0000);
    expect(program.assemble().toString('hex')).toBe(
      ['2000000004000000', '1500010007000000', '0600000001000000', '060000000000ff7f'].join(''),
    );
  });

  it('jumps over what stands between a jump and its label', () => {
    const program = new BpfProgram().jumpUnlessEqual(1, 'far').return(1).return(2).label('far').return(3);
    expect([...program.assemble().subarray(2, 4)]).toEqual([0, 2]);
  });

  it('refuses labels that are unknown, defined twice or behind the jump', () => {
    expect(() => new BpfProgram().jumpIfEqual(1, 'nowhere').assemble()).toThrow('nowhere is not defined');
    expect(() => new BpfProgram().label('a').label('a')).toThrow('a is defined twice');
    expect(() => new BpfProgram().label('a').load(0).jumpIfEqual(1, 'a').assemble()).toThrow('out of reach');
  });

  it('refuses a jump longer than an instruction can hold', () => {
    const program = new BpfProgram().jumpIfEqual(1, 'end');
    for (let index = 0; index < 256; index++) program.load(0);
    expect(() => program.label('end').assemble()).toThrow('out of reach');
  });
});
