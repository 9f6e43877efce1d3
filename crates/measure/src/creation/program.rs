//! A minimal program without loader and libraries. It reads the counter, writes the value to a descriptor and ends.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub const COUNTER_FD: i32 = 200;

/// Whether the program exists for this architecture.
pub const fn is_known() -> bool {
    cfg!(target_arch = "x86_64")
}

const BASE: u64 = 0x40_0000;
const HEADERS: usize = 64 + 56;

/// Machine code. It reads the counter after all earlier instructions, writes eight bytes to the descriptor and exits.
const CODE: [u8; 42] = {
    let [d0, d1, ..] = (COUNTER_FD as u32).to_le_bytes();
    [
        0x0F, 0x01, 0xF9, // rdtscp
        0x48, 0xC1, 0xE2, 0x20, // shl rdx, 32
        0x48, 0x09, 0xD0, // or rax, rdx
        0x50, // push rax
        0xB8, 1, 0, 0, 0, // mov eax, write
        0xBF, d0, d1, 0, 0, // mov edi, descriptor
        0x48, 0x89, 0xE6, // mov rsi, rsp
        0xBA, 8, 0, 0, 0, // mov edx, 8
        0x0F, 0x05, // syscall
        0xB8, 60, 0, 0, 0, // mov eax, exit
        0x31, 0xFF, // xor edi, edi
        0x0F, 0x05, // syscall
        0x0F, 0x0B, // ud2
    ]
};

/// The ELF file: header, one loadable segment that covers the whole file, and code (System V ABI, "Object Files").
fn file() -> Vec<u8> {
    let size = (HEADERS + CODE.len()) as u64;
    let mut file = Vec::with_capacity(size as usize);
    file.extend([0x7F, b'E', b'L', b'F', 2, 1, 1, 0]);
    file.extend([0; 8]);
    for half in [2u16, 62] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for word in [BASE + HEADERS as u64, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    for word in [1u32, 5] {
        file.extend(word.to_le_bytes());
    }
    for word in [0, BASE, BASE, size, size, 0x1000] {
        file.extend(word.to_le_bytes());
    }
    file.extend(CODE);
    file
}

pub fn open() -> io::Result<OwnedFd> {
    // SAFETY: the name is a string that ends with a zero byte.
    let descriptor = unsafe { libc::memfd_create(c"coretalk-child".as_ptr(), 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let file = file();
    // SAFETY: the buffer is readable for the given length.
    let written = unsafe { libc::write(descriptor.as_raw_fd(), file.as_ptr().cast(), file.len()) };
    if written == file.len() as isize { Ok(descriptor) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_states_the_size_of_the_file() {
        let file = file();
        assert_eq!(file.len(), HEADERS + CODE.len());
        assert_eq!(&file[HEADERS..HEADERS + 3], &[0x0F, 0x01, 0xF9]);
        assert_eq!(u64::from_le_bytes(file[24..32].try_into().unwrap()), BASE + HEADERS as u64);
        assert_eq!(u64::from_le_bytes(file[96..104].try_into().unwrap()), file.len() as u64);
    }
}
