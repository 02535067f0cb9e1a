// A machine without a font for mathematics lets subscripts stand on the line: there the style lowers them.
document.addEventListener("DOMContentLoaded", function () {
  const pair = document.querySelector("msub");
  if (!pair) return;
  const [base, below] = [...pair.children].map((child) => child.getBoundingClientRect());
  const lowered = below.bottom - base.bottom;
  document.documentElement.classList.toggle("level-subscripts", lowered < 0.08 * base.height);
});
