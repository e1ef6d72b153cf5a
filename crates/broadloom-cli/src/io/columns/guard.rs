//! Reads files that may be damaged or hostile by libraries that trust some of what files claim.

use super::thrift;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread becomes an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a reader. Parquet's and Arrow's readers return errors for most damages and panic on others; the message of the
/// panic becomes the error. Nothing that the reader has changed may be used after an error.
pub fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if !IS_GUARDED.get() {
                usual(info);
            }
        }));
    });
    let before = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(before);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text =
            text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("its contents are damaged");
        Err(text.lines().next().unwrap_or_default().to_owned())
    })
}

/// The pages of a column chunk. The decoders allocate as many values as dictionaries and lists of lengths claim to have,
/// so these numbers are checked first.
pub struct Pages<R> {
    pub pages: R,
    /// Whether definition levels precede the values of a page.
    pub has_levels: bool,
}

impl<R: PageReader> Pages<R> {
    fn check(&self, page: &Page) -> ParquetResult<()> {
        let bad = |what: &str| Err(ParquetError::General(what.to_owned()));
        match page {
            // A value of a dictionary takes at least one byte.
            Page::DictionaryPage { buf, num_values, .. } => match *num_values as usize <= buf.len() {
                true => Ok(()),
                false => bad("a dictionary has fewer bytes than values"),
            },
            Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. } => match encoding {
                Encoding::DELTA_BYTE_ARRAY => bad(
                    "the encoding DELTA_BYTE_ARRAY of texts is not supported: write the file with another encoding",
                ),
                Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                    let claimed = self.values(page).and_then(thrift::lengths);
                    match claimed.is_some_and(|claimed| claimed <= u64::from(page.num_values())) {
                        true => Ok(()),
                        false => bad("the number of texts in a page is not the one in its header"),
                    }
                }
                _ => Ok(()),
            },
        }
    }

    /// The values of a data page, behind its levels.
    fn values<'p>(&self, page: &'p Page) -> Option<&'p [u8]> {
        match page {
            Page::DataPage { buf, .. } if self.has_levels => {
                let (length, rest) = buf.split_first_chunk()?;
                rest.get(u32::from_le_bytes(*length) as usize..)
            }
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => Some(buf),
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                buf.get((*def_levels_byte_len as usize).checked_add(*rep_levels_byte_len as usize)?..)
            }
        }
    }
}

impl<R: PageReader> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.pages.at_record_boundary()
    }
}

impl<R: PageReader> Iterator for Pages<R> {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::bytes::Bytes;

    /// A column chunk of one page.
    struct One(Option<Page>);

    impl Iterator for One {
        type Item = ParquetResult<Page>;

        fn next(&mut self) -> Option<Self::Item> {
            self.0.take().map(Ok)
        }
    }

    impl PageReader for One {
        fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
            Ok(self.0.take())
        }

        fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
            Ok(None)
        }

        fn skip_next_page(&mut self) -> ParquetResult<()> {
            Ok(())
        }
    }

    #[test]
    fn panics_are_errors() {
        assert_eq!(guarded(|| Ok(3)), Ok(3));
        assert_eq!(guarded::<u8>(|| Err("no".to_owned())), Err("no".to_owned()));
        let error = guarded::<u8>(|| panic!("there is {}", "none")).unwrap_err();
        assert_eq!(error, "there is none");
    }

    #[test]
    fn pages_that_claim_too_much() {
        let is_read =
            |page: Page, has_levels| Pages { pages: One(Some(page)), has_levels }.get_next_page().is_ok();
        let dictionary = |num_values| Page::DictionaryPage {
            buf: Bytes::from_static(b"\x03\0\0\0abc"),
            num_values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        assert!(is_read(dictionary(1), true));
        assert!(!is_read(dictionary(u32::MAX), true));
        // Blocks of 128 in 4 parts, and 3 or two billion lengths; before them, two bytes of levels.
        let data = |claimed: &[u8], encoding, has_levels: bool| {
            let levels: &[u8] = if has_levels { &[2, 0, 0, 0, 6, 1] } else { &[] };
            Page::DataPage {
                buf: Bytes::from([levels, &[0x80, 1, 4], claimed, &[0]].concat()),
                num_values: 3,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            }
        };
        for has_levels in [false, true] {
            let lengths = Encoding::DELTA_LENGTH_BYTE_ARRAY;
            assert!(is_read(data(&[3], lengths, has_levels), has_levels));
            assert!(!is_read(data(&[4], lengths, has_levels), has_levels));
            assert!(!is_read(data(&[0xff, 0xff, 0xff, 0xff, 7], lengths, has_levels), has_levels));
            assert!(!is_read(data(&[3], Encoding::DELTA_BYTE_ARRAY, has_levels), has_levels));
            assert!(is_read(data(&[3], Encoding::DELTA_BINARY_PACKED, has_levels), has_levels));
        }
    }
}
