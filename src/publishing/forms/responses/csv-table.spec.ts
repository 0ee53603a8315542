import { describe, expect, it } from '@jest/globals';
import { addRows, safeCell } from './csv-table.js';

const columns = ['submission_id', 'submitted_at', 'name'];
const row = (id: string, name: string) => ({ id, cells: { submission_id: id, submitted_at: 't', name } });
const add = (text: string | null, ...rows: ReturnType<typeof row>[]) =>
  addRows({ bytes: text === null ? null : Buffer.from(text), columns, rows }).text;

describe('rows of a file', () => {
  it('begin with a header, and are added once', () => {
    const first = add(null, row('1', 'a, "b"\nc'));
    expect(first).toBe('submission_id,submitted_at,name\n1,t,"a, ""b""\nc"\n');
    expect(add(first as string, row('1', 'x'))).toBeNull();
    expect(add(first as string, row('1', 'x'), row('2', 'd'))).toBe(`${first}2,t,d\n`);
  });

  it('go under the names of columns, wherever people put them', () => {
    expect(add('note,name,submission_id,submitted_at\nhi,n,0,t', row('1', 'a'))).toBe(
      'note,name,submission_id,submitted_at\nhi,n,0,t\n,a,1,t\n',
    );
  });

  it('get columns that are missing, at the end', () => {
    expect(add('submission_id,old\n0,x\n', row('1', 'a'))).toBe(
      'submission_id,old,submitted_at,name\n0,x,,\n1,,t,a\n',
    );
  });

  it.each([
    ['Excel', '\uFEFFsubmission_id,submitted_at,name\r\n0,t,n\r\n', '1,t,a;b\r\n2,t,c\r\n'],
    ['Excel in German', '\uFEFFsubmission_id;submitted_at;name\r\n0;t;n\r\n', '1;t;"a;b"\r\n2;t;c\r\n'],
    ['an old Mac', 'submission_id\tsubmitted_at\tname\r0\tt\tn\r', '1\tt\ta;b\r2\tt\tc\r'],
    ['Excel without a last line end', 'submission_id,submitted_at,name\r\n0,t,n', '\r\n1,t,a;b\r\n2,t,c\r\n'],
    ['hands in several editors', 'submission_id,submitted_at,name\n0,t,n\r\n9,t,m\r', '1,t,a;b\n2,t,c\n'],
    ['a header of two lines', 'submission_id,submitted_at,name,"x\ny"\r\n', '1,t,a;b,\r\n2,t,c,\r\n'],
  ])('end as the file of %s does, one response after the other', (_, text, lines) => {
    const once = add(text, row('1', 'a;b'));
    const twice = add(once as string, row('2', 'c'));
    expect(twice).toBe(text + lines);
    expect(add(twice as string, row('1', 'a;b'), row('2', 'c'))).toBeNull();
  });

  it('are found by their ids, whatever mixture of line ends stands between them', () => {
    const text = 'submission_id,submitted_at,name\r\n1,t,"a\r\nb"\n2,t,c\r\r\n3,t,d\n\n 4 ,t,e';
    const rows = ['1', '2', '3', '4'].map(id => row(id, 'x'));
    expect(add(text, ...rows)).toBeNull();
  });

  it('leave BOM and line ends as they are where columns are added', () => {
    expect(add('\uFEFFsubmission_id;old\r\n0;"x\ny"\r\n', row('1', 'a\rb'))).toBe(
      '\uFEFFsubmission_id;old;submitted_at;name\r\n0;"x\ny";;\r\n1;;t;"a\rb"\r\n',
    );
  });

  it.each([
    'name,other\n1,2\n',
    'submission_id,submission_id\n',
    'submission_id,name,name\n',
    'submission_id,"na\n1,2',
  ])('are not added to a file whose header cannot be read: %j', text =>
    expect(add(text, row('1', 'a'))).toBeUndefined(),
  );
});

it('are not added to what is no UTF-8', () => {
  const bytes = Buffer.from('submission_id;n\n1;M\xfcller\n', 'latin1');
  expect(addRows({ bytes, columns, rows: [row('2', 'a')] }).text).toBeUndefined();
});

it.each(['=1+1', '+1', '-1', '@x', ' =1', '\t=1', '\r=1', '\uFEFF=1', '＝1', '－1'])(
  'no cell is a formula: %j',
  text => expect(safeCell(text)).toBe(`'${text}`),
);
it.each(['a=1', '1', "'=1", ''])('other cells stay as they are: %j', text =>
  expect(safeCell(text)).toBe(text),
);
