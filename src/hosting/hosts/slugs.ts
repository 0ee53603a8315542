import { Invalid } from '../../platform/errors/index.js';

/** Never with `--`, which divides the number of a version from the slug. */
export const SLUG = /^(?=.{1,40}$)[a-z0-9](-?[a-z0-9])*$/;
export const SLUG_HINT =
  'takes 1 to 40 small letters, digits and single hyphens, and begins and ends with a letter or digit';

/** Names that people would take for the service itself. */
const RESERVED = new Set(
  `www api admin share mail auth login account accounts internal localhost root webmail autoconfig autodiscover wpad isatap
  security abuse postmaster hostmaster webmaster atelier`.split(/\s+/),
);

/** 422 for what cannot be a slug. */
export function requireSlug(slug: string): void {
  if (!SLUG.test(slug)) throw new Invalid(`slug ${SLUG_HINT}`);
  if (RESERVED.has(slug)) throw new Invalid(`The slug ${slug} is reserved; choose another one`);
}

/** A slug made of a name; empty where nothing of it can be used. */
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
