/** Credentials of connections: opening one of the vault against one AES-256-GCM open of what it holds. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { decrypt, encrypt, open, seal } from '../../dist/libs/envelope/index.js';
import { bench, compare, report } from './lib.mjs';

const ROUNDS = 15;
const OPENS = 20_000;
const CONTEXT = 'token_set:0198c1de-0000-7000-8000-000000000001:0198c1de-0000-7000-8000-000000000002';

const key = { id: 'bench', key: createSecretKey(randomBytes(32)) };
const tokens = JSON.stringify({
  access_token: randomBytes(750).toString('base64url'),
  refresh_token: randomBytes(300).toString('base64url'),
});

function timed(work) {
  const begun = performance.now();
  for (let at = 0; at < OPENS; at++) work();
  return performance.now() - begun;
}

await bench(async () => {
  const envelope = seal(key, tokens, CONTEXT);
  const plain = encrypt(key.key, tokens, CONTEXT);
  const times = await compare(
    ROUNDS,
    () => timed(() => open(key, envelope, CONTEXT)),
    () => timed(() => decrypt(key.key, plain, CONTEXT).toString()),
  );
  const each = ms => ((ms / OPENS) * 1000).toFixed(1);
  report(
    'vault open / AES-256-GCM open',
    times.ours / times.floor,
    'goal <= 2',
    `${each(times.ours)} of ${each(times.floor)} µs, ${tokens.length} bytes`,
  );
});
