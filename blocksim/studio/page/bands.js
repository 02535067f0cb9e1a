// An envelope on a canvas: one shape from the least to the greatest value of each column of a plot.

/** The path of an envelope, each column joined to the one before; filled, it is painted in a fraction of a zigzag line's time.
 *  `x(k)` is where column k stands, `half` what a flat line has to either side; a column that holds nan is passed over. */
export function bandPath(pen, least, greatest, x, y, half) {
  const edge = [];
  let before = -1;
  pen.beginPath();
  for (let k = 0; k < least.length; k++) {
    if (Number.isNaN(least[k])) continue;
    const bottom = before < 0 ? least[k] : Math.min(least[k], greatest[before]), top = before < 0 ? greatest[k] : Math.max(greatest[k], least[before]);
    pen.lineTo(x(k), y(top) - half);
    edge.push([x(k), y(bottom) + half]);
    before = k;
  }
  for (const [px, py] of edge.reverse()) pen.lineTo(px, py);
  pen.closePath();
}
