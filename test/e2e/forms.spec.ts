import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Forms } from '../harness/forms.js';
import { type Person, TestService } from '../harness/service.js';

const SIGNUP = `title: Sign up
fields:
  - { id: full_name, label: Your name, type: text, required: true }
  - { id: email, label: E-mail, type: email, required: true }
  - { id: age, label: Age, type: number, min: 0, max: 150 }
  - { id: meals, label: Meals, type: choices, options: [Lunch, Dinner] }
`;
const ADA = { full_name: 'Ada', email: 'ada@example.com', age: '36' };

let service: TestService;
let ada: Person;
let forms: Forms;

beforeAll(async () => {
  service = await TestService.start({ FORM_PER_ADDRESS: '0', FORM_PER_HOUR: '0' });
  ada = await service.person();
  forms = await Forms.in(service, ada);
});
afterAll(() => service.stop());

describe('a form', () => {
  it('is checked, shared, filled in, and its responses are listed', async () => {
    await forms.write('signup.form', SIGNUP);
    expect((await forms.check('signup.form')).body).toMatchObject({
      ok: true,
      title: 'Sign up',
      columns: ['submission_id', 'submitted_at', 'full_name', 'email', 'age', 'meals'],
      output: 'signup.csv',
    });
    const made = await forms.share('signup.form');
    expect(made).toMatchObject({ state: 'open', title: 'Sign up', responses: 0, created_by: ada.id });
    expect(made.url).toMatch(/^http:\/\/share\.localhost(:\d+)?\/f\/[\w-]{43}$/);
    const page = await forms.visit(made.at);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<label for="f-full_name">Your name</label>');
    const sent = await forms.send(made, ADA);
    expect([sent.status, sent.headers.location]).toEqual([303, `${made.at}/done`]);
    expect((await forms.visit(`${made.at}/done`)).text).toContain('Your response was received');
    await forms.written(made);
    expect(await forms.csv('signup.csv')).toEqual([
      ['submission_id', 'submitted_at', 'full_name', 'email', 'age', 'meals'],
      [expect.any(String), expect.any(String), 'Ada', 'ada@example.com', '36', ''],
    ]);
  });

  it('says what is wrong with answers, and keeps them', async () => {
    const made = await forms.make(SIGNUP);
    const sent = await forms.send(made, { full_name: '<b>', email: 'nobody', age: '1000' });
    expect(sent.status).toBe(422);
    expect(sent.text).toContain('<a href="#f-email">E-mail: this must be an e-mail address');
    expect(sent.text).toContain('Age: this may not be more than 150');
    expect(sent.text).toContain('value="&lt;b&gt;"');
    expect((await forms.read(made)).responses).toBe(0);
  });
});
