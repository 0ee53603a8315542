const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * Runs one step and shows it as one line with its duration: on a terminal the line counts the seconds, in a log
 * it is written when the step begins and again when it is done.
 */
export async function stage(title, step) {
  const begun = performance.now();
  const seconds = () => `${((performance.now() - begun) / 1000).toFixed(0)} s`;
  const stop = process.stdout.isTTY ? spin(title, seconds) : announce(title);
  try {
    const result = await step();
    stop();
    console.log(`✓ ${title} (${seconds()})`);
    return result;
  } catch (error) {
    stop();
    console.log(`✗ ${title} (${seconds()})`);
    throw error;
  }
}

function announce(title) {
  console.log(`… ${title}`);
  return () => {};
}

function spin(title, seconds) {
  let turn = 0;
  const draw = () =>
    process.stdout.write(`\r\x1b[K${frames[turn++ % frames.length]} ${title} (${seconds()})`);
  draw();
  const timer = setInterval(draw, 100);
  return () => {
    clearInterval(timer);
    process.stdout.write('\r\x1b[K');
  };
}
