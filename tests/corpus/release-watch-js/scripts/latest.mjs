const names = process.argv.slice(2);
if (names.length === 0) {
  console.error("usage: latest.mjs PACKAGE...");
  process.exit(2);
}
for (const name of names) {
  try {
    const answer = await fetch(`https://registry.example.com/${name}`, { signal: AbortSignal.timeout(15000) });
    if (!answer.ok) throw new Error(`registry says ${answer.status}`);
    const { "dist-tags": tags, time } = await answer.json();
    console.log(`${name} ${tags.latest} ${time[tags.latest].slice(0, 10)}`);
  } catch (problem) {
    console.error(`${name}: ${problem.cause?.code ?? problem.message}`);
    process.exitCode = 1;
  }
}
