import type { FormDefinition, FormField } from '../file/form-definition.js';
import { conditionalId, controlIds } from './field-html.js';

export const FORM_STYLE = `
:root{--field:#8a8a83;--wash:#eef2ff}
@media(prefers-color-scheme:dark){:root{--field:#7d7d86;--wash:#232a3f}}
.page:has(.sheetlike,.finished){max-width:42rem}
.sheetlike{padding:36px 40px 40px}
.sheetlike h1{font-size:1.9rem;letter-spacing:-.02em}
.intro{margin:12px 0 0;color:var(--soft)}
.intro.prose{padding:0;color:var(--ink)}
.notice{margin:0 0 20px;padding:12px 16px;border:1px solid var(--line);border-left:4px solid var(--fill);border-radius:10px;background:var(--wash)}
.summary{margin:24px 0 0;padding:16px 20px;border:2px solid var(--alarm);border-radius:12px;background:var(--alarm-ground)}
.summary h2{margin:0 0 6px;font-size:1.1rem;color:var(--alarm)}
.summary ul{margin:0;padding-left:1.2em}
.summary a{color:var(--alarm);font-weight:600}
.summary p{margin:8px 0 0}
.fields{margin-top:28px}
.field{min-width:0;margin:0 0 26px;padding:0;border:0}
.field>label:not(.option),.field>legend{display:block;margin:0 0 6px;padding:0;font-weight:600;overflow-wrap:anywhere}
.optional{color:var(--soft);font-weight:400}
.help{margin:-2px 0 8px;color:var(--soft);font-size:.92rem;overflow-wrap:anywhere}
.mistake{margin:0 0 8px;color:var(--alarm);font-weight:600;font-size:.95rem}
.wrong{padding-left:16px;border-left:4px solid var(--alarm)}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.field input:not([type=radio],[type=checkbox]),.field textarea,.field select{display:block;width:100%;margin:0;padding:11px 13px;border:1px solid var(--field);border-radius:10px;background:var(--card);color:inherit;font:inherit}
.field input[type=date],.field input[type=time],.field input[type=number]{max-width:16rem}
.field input[type=file]{padding:18px;border:2px dashed var(--field);background:var(--hover)}
.field textarea{resize:vertical;min-height:7rem}
.field input:focus-visible,.field textarea:focus-visible,.field select:focus-visible{outline:3px solid var(--link);outline-offset:1px}
.wrong input:not([type=radio],[type=checkbox]),.wrong textarea,.wrong select{border-color:var(--alarm)}
.options{display:grid;gap:8px}
.option{display:flex;gap:12px;align-items:flex-start;margin:0;padding:11px 14px;border:1px solid var(--line);border-radius:10px;background:var(--card);font-weight:400;cursor:pointer;overflow-wrap:anywhere}
.option:hover{background:var(--hover)}
.option:has(:checked){border-color:var(--fill);background:var(--wash)}
.option:has(:focus-visible){outline:3px solid var(--link);outline-offset:1px}
.option input{flex:none;width:20px;height:20px;margin:2px 0 0;accent-color:var(--fill)}
.option input:focus-visible{outline:0}
.option span{min-width:0}
.scale{grid-template-columns:repeat(auto-fit,minmax(3rem,1fr));max-width:34rem}
.scale .option{flex-direction:column;align-items:center;gap:4px;padding:10px 4px}
.scale .option input{margin:0}
.section{margin:36px 0 18px;padding-top:24px;border-top:1px solid var(--line)}
.fields>.section:first-child{margin-top:0;padding-top:0;border-top:0}
.section h2{margin:0;font-size:1.25rem}
.section p{margin:4px 0 0;color:var(--soft)}
.decoy{position:absolute;left:-10000px;width:1px;height:1px;overflow:hidden}
.send{margin-top:8px}
.sheetlike form button{width:auto;min-width:9rem;padding:12px 28px}
.proof{margin:0 0 22px}
altcha-widget{--altcha-max-width:100%;--altcha-border-radius:10px}
.finished{padding:56px 40px;text-align:center}
.finished .icon{width:56px;height:56px;margin:0 0 10px;stroke:var(--good);stroke-width:1.6}
.finished .prose{padding:0}
@media(max-width:40rem){.sheetlike{padding:24px 18px 28px}.sheetlike h1{font-size:1.5rem}.sheetlike form button{width:100%}.finished{padding:40px 18px}.page:has(.sheetlike,.finished){padding:12px 10px}}
`;

/**
 * CSS that hides fields while their condition does not hold: pages of forms run no scripts. Options are named by their places, so
 * that no text of a form is in it. Browsers without `:has()` show all fields; what is not asked is dropped when it is received.
 */
export function conditionsStyle({ fields }: FormDefinition): string {
  const byId = new Map(fields.map(field => [field.id, field]));
  const rules = fields.flatMap(field =>
    unmet(field, byId).map(state => `${state} #${conditionalId(field.id)}`),
  );
  return rules.length > 0 ? `@supports selector(:has(a)){${rules.join(',')}{display:none}}\n` : '';
}

/** Selectors of the form while a field is hidden: its own condition is not met, or one that this depends on. */
function unmet({ showIf }: FormField, fields: ReadonlyMap<string, FormField>): string[] {
  const asked = showIf && fields.get(showIf.field);
  if (!showIf || !asked) return [];
  const before = unmet(asked, fields);
  const ids = controlIds(asked);
  if (asked.type === 'checkbox') {
    const ticked = `.fields:has(#${ids[0]}:checked)`;
    const values = showIf.is ?? ['true'];
    if (values.length > 1) return before;
    return [...before, values[0] === 'true' ? `.fields:not(:has(#${ids[0]}:checked))` : ticked];
  }
  const chosen = ids
    .filter((_, index) => showIf.is?.includes(asked.options[index]?.id ?? String(index + 1)) ?? true)
    .map(id => `#${id}:checked`);
  return [...before, `.fields:not(:has(${chosen.join(',')}))`];
}
