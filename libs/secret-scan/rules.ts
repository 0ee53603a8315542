interface Rule {
  readonly name: string;
  /** Matches at most MAX_MATCH characters; the secret is the first group, or all of it. */
  readonly pattern: RegExp;
  readonly isSecret?: (text: string) => boolean;
}

/** No pattern matches more. */
export const MAX_MATCH = 1024;
const MIN_ENTROPY = 3.5;

export const RULES: readonly Rule[] = [
  { name: 'private-key', pattern: /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g },
  { name: 'github-token', pattern: /gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255}/g },
  { name: 'gitlab-token', pattern: /glpat-[\w-]{20,255}/g },
  { name: 'slack-token', pattern: /xox[abeoprs]-[A-Za-z0-9-]{10,255}/g },
  { name: 'slack-webhook', pattern: /hooks\.slack\.com\/services\/T\w{5,20}\/B\w{5,20}\/\w{16,64}/g },
  { name: 'anthropic-key', pattern: /sk-ant-[\w-]{20,255}/g },
  { name: 'openai-key', pattern: /sk-(?:proj|svcacct|admin)-[\w-]{20,255}/g },
  { name: 'stripe-key', pattern: /[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}/g },
  { name: 'aws-access-key', pattern: /(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])/g },
  { name: 'google-key', pattern: /AIza[\w-]{35}/g },
  { name: 'npm-token', pattern: /npm_[A-Za-z0-9]{36}/g },
  { name: 'sendgrid-key', pattern: /SG\.[\w-]{22}\.[\w-]{43}/g },
  {
    name: 'atelier-credential',
    pattern: /(?<![A-Za-z0-9])(?:at[lxh]_[\w-]{43}|whsec_[A-Za-z0-9+/=_-]{20,255})/g,
  },
  {
    name: 'atelier-address',
    pattern: /\/(?:api\/hooks|s|f|invitations|file-invitations)\/([\w-]{43})(?![\w-])/g,
  },
  { name: 'discord-webhook', pattern: /discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/[\w-]{60,80}/g },
  // The signature of a JWT (RFC 7519) may lie beyond MAX_MATCH: header and claims are enough to tell one.
  { name: 'jwt', pattern: /(?<![\w-])eyJ[\w-]{8,300}\.eyJ[\w-]{8,600}/g },
  {
    name: 'password-in-url',
    pattern:
      /(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?|https?):\/\/[^\s:@/]{0,64}:([^\s:@/${}]{3,128})@/g,
  },
  {
    name: 'netrc-password',
    pattern: /machine\s{1,8}\S{1,128}\s{1,8}login\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(\S{1,128})/g,
  },
  {
    name: 'random-value',
    pattern:
      /^[ \t]{0,16}(?:export )?[A-Z][A-Z0-9_]{1,63}=["']?([A-Za-z0-9+/_=-]{20,255})["']?[ \t]{0,16}\r?$/gm,
    isSecret: text => /\d/.test(text) && /[A-Za-z]/.test(text) && entropyOf(text) >= MIN_ENTROPY,
  },
];

/** Bits a character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
