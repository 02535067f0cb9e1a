"""Sphinx settings of the site; `python docs/build.py` uses them."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import blocksim  # noqa: E402

project = "blocksim"
author = "the blocksim developers"
version = release = blocksim.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery", "mathml", "docstrings"]
exclude_patterns = ["examples", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.zip", "**sg_execution_times.rst"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
root_doc = "index"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
suppress_warnings = ["myst.header", "config.cache"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
default_role = "code"

sphinx_gallery_conf = {
    "examples_dirs": [],  # set when the place of the sources is known
    "gallery_dirs": [],
    "plot_gallery": "False",  # the tests run every example; a page only shows it
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "first_notebook_cell": None,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "blocksim"
html_static_path = [str(HERE / "static")]
html_favicon = str(HERE / "static" / "mark.svg")
html_css_files = ["site.css"]
html_js_files = ["subscripts.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}
html_context = {"default_mode": "auto"}
copyright = "the blocksim developers, MIT licence"


def setup(app):
    """The gallery reads the staged copies of the examples."""
    source = Path(app.srcdir)
    app.config.sphinx_gallery_conf["examples_dirs"] = [str(source / "examples")]
    app.config.sphinx_gallery_conf["gallery_dirs"] = ["gallery"]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
