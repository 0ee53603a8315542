import { Findings } from '#libs/front-matter/index.js';
import { readYamlMapping } from './index.js';

const read = (text: string) => {
  const findings = new Findings('a.yaml');
  return { file: readYamlMapping(text, findings, 'Begin with a name'), findings };
};

describe('YamlMapping', () => {
  it('reads "on" as a key like any other', () => {
    expect(read('on: yes\n').file?.text('on', 10)).toBe('yes');
  });

  it('reports a mistyped key with its line and the one that was meant', () => {
    const { file, findings } = read('name: a\nscedule: b\n');
    file?.expect(['name', 'schedule']);
    expect(findings.all).toEqual([
      expect.objectContaining({ line: 2, suggestion: 'Did you mean "schedule"?' }),
    ]);
  });

  it.each(['', '- a list', 'a: b: c'])('reports a file that is no mapping: %j', text => {
    const { file, findings } = read(text);
    expect(file).toBeUndefined();
    expect(findings.hasErrors).toBe(true);
  });
});
