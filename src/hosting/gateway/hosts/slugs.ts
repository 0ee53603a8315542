import { Invalid } from '../../../platform/errors/index.js';

/** Never contains `--`, which separates version number and slug in hosts. */
export const SLUG = /^(?=.{1,40}$)[a-z0-9](-?[a-z0-9])*$/;
export const SLUG_HINT =
  'takes 1 to 40 small letters, digits and single hyphens, and begins and ends with a letter or digit';

/** Names that people would take for the service itself. */
const RESERVED = new Set(
  `www api admin share mail auth login account accounts internal localhost root webmail autoconfig autodiscover wpad isatap
  security abuse postmaster hostmaster webmaster atelier`.split(/\s+/),
);

/** 422 for an invalid or reserved slug. */
export function requireSlug(slug: string): void {
  if (!SLUG.test(slug)) throw new Invalid(`slug ${SLUG_HINT}`);
  if (RESERVED.has(slug)) throw new Invalid(`The slug ${slug} is reserved; choose another one`);
}

/** Empty if the name has no usable character. */
export function slugify(name: string): string {
  const letters = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  const slug = letters.slice(0, 40).replace(/-+$/, '');
  return RESERVED.has(slug) ? `${slug}-site` : slug;
}
