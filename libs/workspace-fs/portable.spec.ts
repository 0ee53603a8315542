import { symlinkSync } from 'node:fs';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

/** The way of systems without /proc, which must do the same where nobody interferes. */
describe('addressing by paths', () => {
  it('does everything, and refuses links', async () => {
    const workspace = await TestWorkspace.make({ addressing: 'paths' });
    const before = openDescriptors();
    const { fs } = workspace;
    const { entry } = await fs.write('a/b/é.txt', 'one two');
    await fs.edit('a/b/é.txt', { old_text: 'two', new_text: 'three', ifMatch: entry.etag ?? '' });
    expect((await fs.readText('a/b/é.txt')).content).toBe('one three');
    await fs.copy('a', 'c');
    await fs.move('c', 'd/e');
    symlinkSync(workspace.outside(), workspace.at('link'));
    for (const path of ['link', 'link/canary.txt', 'link/sub/canary.txt']) {
      await expect(fs.readText(path)).rejects.toMatchObject({ code: 'symlink' });
      await expect(fs.write(path, 'x')).rejects.toMatchObject({ code: 'symlink' });
      await expect(fs.list(path)).rejects.toMatchObject({ code: 'symlink' });
    }
    expect((await fs.search({ query: 'three' })).matches.map(({ path }) => path)).toEqual([
      'a/b/é.txt',
      'd/e/b/é.txt',
    ]);
    await fs.remove('a', { recursive: true });
    await fs.remove('d', { recursive: true });
    await fs.remove('link');
    expect(workspace.names()).toEqual([]);
    expect(openDescriptors()).toBe(before);
    await workspace.remove();
  });
});
