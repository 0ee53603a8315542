/** A PDF with such lines on its pages. */
export function makePdf(pages: readonly (readonly string[])[]): Buffer {
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>', '', FONT];
  const add = (object: string) => objects.push(object);
  const kids = pages.map(lines => {
    const text = `BT /F1 12 Tf 50 700 Td 14 TL ${lines.map(line => `(${line}) Tj T*`).join(' ')} ET`;
    const content = add(`<< /Length ${text.length} >>\nstream\n${text}\nendstream`);
    const fonts = '<< /Font << /F1 3 0 R >> >>';
    return add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${content} 0 R /Resources ${fonts} >>`,
    );
  });
  objects[1] = `<< /Type /Pages /Kids [${kids.map(kid => `${kid} 0 R`).join(' ')}] /Count ${kids.length} >>`;
  let file = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const at = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}`;
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Buffer.from(`${file}${table}${end}`, 'latin1');
}

const FONT = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';
