// Before anything is painted, so that no theme flashes up that was not chosen.
{
  const chosen = localStorage.getItem("assay.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
