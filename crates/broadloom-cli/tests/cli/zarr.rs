//! Arrays of Zarr stores: zarr/stores.zip, which the Python package zarr has written (zarr/generate.py), and damaged ones.

use super::{Done, Folder};
use std::path::Path;

/// A folder with the stores `v2` and `v3`.
fn stores() -> Folder {
    let folder = Folder::new();
    let archive = std::io::Cursor::new(include_bytes!("zarr/stores.zip"));
    zip::ZipArchive::new(archive).unwrap().extract(folder.path()).unwrap();
    folder
}

/// What generate.py writes to most arrays.
fn x(row: usize, column: usize) -> f64 {
    ((row * 5 + column) * 7 % 11) as f64 - 4.0
}

/// The elements of the only result, as f64, read from a raw file.
fn elements(folder: &Folder, args: &[&str]) -> Vec<f64> {
    let args: Vec<&str> = ["eval"].iter().chain(args).chain(&["-o", "out.bin"]).copied().collect();
    assert_eq!(folder.output(&args), "");
    folder.read("out.bin").chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn refused(done: &Done, fragments: &[&str]) {
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    for fragment in fragments {
        assert!(done.stderr.contains(fragment), "no {fragment:?} in\n{}", done.stderr);
    }
}

#[test]
fn arrays_of_both_versions() {
    let folder = stores();
    let all: Vec<f64> = (0..35).map(|at| x(at / 5, at % 5)).collect();
    for (version, names) in [
        (
            "v2",
            &[
                "plain_i1", "plain_i8", "plain_f2", "plain_f8", "swapped", "fortran", "blosc", "gzip",
                "zlib", "zstd",
            ][..],
        ),
        (
            "v3",
            &[
                "plain_i1",
                "plain_i8",
                "plain_f2",
                "plain_f8",
                "swapped",
                "fortran",
                "blos",
                "gzip",
                "zstd",
                "sharded",
                "inner/deep",
            ],
        ),
    ] {
        for name in names {
            let input = format!("x={version}/{name}");
            assert_eq!(elements(&folder, &["x.astype(f64)", &input]), all, "{input}");
            // In chunks that are no multiples of those of the store.
            for rows in ["1", "2", "5"] {
                assert_eq!(
                    elements(&folder, &["x.astype(f64)", &input, "--chunk", rows]),
                    all,
                    "{input} {rows}"
                );
            }
        }
        let of = |text: &str, input: &str| folder.output(&["eval", text, &format!("x={version}/{input}")]);
        assert_eq!(of("x", "plain_u2"), folder.output(&["eval", "(arange(35) * 7 % 11).reshape(7, 5)"]));
        assert_eq!(of("x", "bools"), "[ True False False  True False False  True]\n");
        assert_eq!(of("x * 2", "scalar"), "5.0\n");
        assert_eq!(of("x.shape[0] + sum(x)", "empty"), "0.0\n");
        // Chunks that are missing have the fill value.
        assert_eq!(of("x[:, 0]", "gaps"), "[-4.  -2.   0.  -1.5 -1.5 -1.5 -1.5]\n");
        assert_eq!(folder.output(&["check", "x", &format!("x={version}/plain_f2")]), "result: f16[7, 5]\n");
    }
}

#[test]
fn groups_have_names() {
    let folder = stores();
    for version in ["v2", "v3"] {
        let sum = folder.output(&["eval", "sum(swapped) + sum(plain_f8)", version]);
        assert_eq!(sum, format!("{:?}\n", 2.0 * (0..35).map(|at| x(at / 5, at % 5)).sum::<f64>()));
        refused(
            &folder.run(&["eval", "x", &format!("x={version}")]),
            &["is a group of Zarr, not an array", "\"plain_f8\"", &format!("x={version}/b")],
        );
        refused(
            &folder.run(&["eval", "x", &format!("x={version}/swaped")]),
            &["No such file", "did you mean \"swapped\"?"],
        );
    }
    let unnamed = folder.run(&["eval", "x", "v3/swapped"]);
    assert!(
        unnamed.stderr.contains("has no name") && unnamed.stderr.contains("x=v3/swapped"),
        "{}",
        unnamed.stderr
    );
}

#[test]
fn damaged_stores() {
    let folder = stores();
    let change = |path: &str, change: &dyn Fn(&Path)| change(&folder.path().join(path));
    for (input, chunk) in [
        ("v2/plain_f8", "v2/plain_f8/0.0"),
        ("v2/zstd", "v2/zstd/1.1"),
        ("v3/blos", "v3/blos/c/0/1"),
        ("v3/sharded", "v3/sharded/c/1/0"),
    ] {
        change(chunk, &|path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        });
        let named = format!("x={input}");
        refused(&folder.run(&["eval", "x", &named]), &[input, "it is damaged, or still being written"]);
        refused(
            &folder.run(&["eval", "x", &named, "--chunk", "2", "-o", "out.npy"]),
            &[input, "it is damaged"],
        );
        assert!(!folder.names().contains(&"out.npy".to_owned()));
    }
    for version in ["v2", "v3"] {
        let named = format!("x={version}/complex");
        refused(
            &folder.run(&["eval", "x", &named]),
            &["complex64", "which is not supported", "astype(\"float64\")"],
        );
    }
    refused(&folder.run(&["eval", "x", "x=."]), &[". is a folder", "give a file in it"]);
    // Metadata that are none, or that promise what no machine has.
    for (text, fragments) in [
        ("", &["v3/gzip: ", "damaged"][..]),
        ("{}", &["v3/gzip: ", "damaged"]),
        ("[1, 2", &["v3/gzip: ", "damaged"]),
    ] {
        folder.write("v3/gzip/zarr.json", text);
        refused(&folder.run(&["eval", "x", "x=v3/gzip"]), fragments);
    }
    let metadata = String::from_utf8(folder.read("v3/zstd/zarr.json")).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<String>();
    for (from, to, fragments) in [
        ("\"shape\":[7,5]", "\"shape\":[9000000000000000000,5]", &["v3/zstd: "][..]),
        // Chunks that do not exist hold fill values, and take no space.
        (
            "\"shape\":[7,5]",
            "\"shape\":[1000000000000,5]",
            &["v3/zstd: [1000000000000, 5] of its elements do not fit", "--chunk"],
        ),
        (
            "\"chunk_shape\":[4,3]",
            "\"chunk_shape\":[4000000000000,3]",
            &["v3/zstd: its chunks have the shape", "smaller chunks"],
        ),
        ("\"chunk_shape\":[4,3]", "\"chunk_shape\":[0,3]", &["v3/zstd: "]),
        ("\"chunk_shape\":[4,3]", "\"chunk_shape\":[4]", &["v3/zstd: "]),
        ("\"float32\"", "\"quaternion\"", &["v3/zstd: "]),
        ("\"zstd\"", "\"shannon\"", &["v3/zstd: ", "codec"]),
    ] {
        let changed = words(&metadata).replace(from, to);
        assert!(changed.contains(to), "{changed}");
        folder.write("v3/zstd/zarr.json", changed);
        refused(&folder.run(&["eval", "x", "x=v3/zstd"]), fragments);
    }
}

/// A store that the crate has written itself, large enough for chunks.
#[test]
fn stores_of_the_crate() {
    use std::sync::Arc;
    use zarrs::array::{ArrayBuilder, data_type};
    use zarrs::filesystem::FilesystemStore;
    let folder = Folder::new();
    let store = Arc::new(FilesystemStore::new(folder.path().join("own.zarr")).unwrap());
    let array = ArrayBuilder::new(vec![1000, 3], vec![64, 2], data_type::float64(), f64::NAN)
        .build(store, "/")
        .unwrap();
    array.store_metadata().unwrap();
    let values: Vec<f64> = (0..3000).map(|at| f64::from(at).sqrt()).collect();
    array.store_array_subset(&array.subset_all(), &values).unwrap();
    assert_eq!(elements(&folder, &["x", "x=own.zarr"]), values);
    assert_eq!(elements(&folder, &["x - x.mean(axis=0)", "x=own.zarr", "--chunk", "100"]).len(), 3000);
    let whole = folder.output(&["eval", "x.std(axis=0)", "x=own.zarr"]);
    assert_eq!(folder.output(&["eval", "x.std(axis=0)", "x=own.zarr", "--chunk", "100"]), whole);
}
