//! What each message of a front-end asks for.

use std::fs::File;

use sys::memory::sealed;
use vhost_user::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig,
    VhostUserSharedMsg, VhostUserSingleMemoryRegion, VhostUserVirtioFeatures,
    VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost_user::vhost_user::{GpuBackend, Result, VhostUserBackendReqHandlerMut};

use super::{BackEnd, EVENT_INDEX, INDIRECT, Line, SetupError, VERSION_1};
use crate::log::Logs;
use crate::memory::{GuestMemory, RegionSpec};
use crate::notifiers::kick;

fn region(region: &VhostUserMemoryRegion) -> RegionSpec {
    RegionSpec {
        guest: region.guest_phys_addr,
        bytes: region.memory_size,
        user: region.user_addr,
        offset: region.mmap_offset,
    }
}

fn single(region: &VhostUserSingleMemoryRegion) -> RegionSpec {
    RegionSpec {
        guest: region.guest_phys_addr,
        bytes: region.memory_size,
        user: region.user_addr,
        offset: region.mmap_offset,
    }
}

impl VhostUserBackendReqHandlerMut for BackEnd {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.reset_device()
    }

    fn reset_device(&mut self) -> Result<()> {
        let stopped = self.stop_all();
        self.note(stopped)?;
        self.shared.sessions.clear(&self.shared.function);
        self.lines = self.shared.notifiers.iter().map(Line::new).collect();
        Ok(())
    }

    fn get_features(&mut self) -> Result<u64> {
        let protocol = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
        Ok(VERSION_1 | EVENT_INDEX | INDIRECT | protocol)
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        let wrong = features & !self.get_features()?;
        let outcome = if wrong == 0 {
            self.features = features;
            Ok(())
        } else {
            Err(SetupError::Features { wrong })
        };
        self.note(outcome)
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _: Option<bool>,
    ) -> Result<Option<Vec<u64>>> {
        let sizes = regions.iter().map(|region| region.memory_size);
        let bytes = sizes.fold(0, u64::saturating_add);
        let parts = regions.iter().map(region).zip(files).collect();
        let changed = self.change_memory(bytes, |_| GuestMemory::new(parts));
        self.note(changed).map(|()| None)
    }

    fn set_vring_num(&mut self, index: u32, size: u32) -> Result<()> {
        let size = u16::try_from(size).unwrap_or(u16::MAX);
        let set = self.line(index).map(|line| line.size = size);
        self.note(set)
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        _: VhostUserVringAddrFlags,
        descriptors: u64,
        used: u64,
        available: u64,
        _: u64,
    ) -> Result<()> {
        let addresses = Some((descriptors, used, available));
        let changed = match self.line(index) {
            // QEMU says so again of a queue that runs.
            Ok(line)
                if line.running.is_some()
                    && line.addresses == addresses
                    && !line.notifiers.is_broken() =>
            {
                Ok(())
            }
            Ok(line) if line.running.is_none() => {
                line.addresses = addresses;
                Ok(())
            }
            Ok(_) => self.change(index, |line| line.addresses = addresses),
            Err(error) => Err(error),
        };
        self.note(changed)
    }

    /// Where to begin is known by the used index: see [`Queue::new`](crate::queue::Queue::new).
    fn set_vring_base(&mut self, index: u32, _: u32) -> Result<()> {
        let known = self.line(index).map(|_| ());
        self.note(known)
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        let stopped = self.line(index).map(|_| ());
        let stopped = stopped.and_then(|()| self.stop(index as usize));
        let base = self.note(stopped)?.unwrap_or_default();
        let line = &mut self.lines[index as usize];
        (line.kick, line.addresses) = (None, None);
        Ok(VhostUserVringState::new(index, base.into()))
    }

    fn set_vring_kick(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let index = u32::from(index);
        let file = file.ok_or(SetupError::NoKick { index });
        let kick = file.and_then(|file| kick(file.into()));
        let changed = kick.and_then(|kick| self.change(index, |line| line.kick = Some(kick)));
        self.note(changed)
    }

    fn set_vring_call(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let call = self.notifier(file);
        let set = call.and_then(|call| {
            let line = self.line(index.into());
            line.map(|line| line.notifiers.set_call(call))
        });
        self.note(set)
    }

    fn set_vring_err(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let error = self.notifier(file);
        let set = error.and_then(|error| {
            let line = self.line(index.into());
            line.map(|line| line.notifiers.set_error(error))
        });
        self.note(set)
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        type F = VhostUserProtocolFeatures;
        let mut features = F::MQ
            | F::REPLY_ACK
            | F::CRYPTO_SESSION
            | F::CONFIGURE_MEM_SLOTS
            | F::RESET_DEVICE
            | F::INFLIGHT_SHMFD;
        if self.shared.config.offers_config {
            features |= F::CONFIG;
        }
        Ok(features)
    }

    fn set_protocol_features(&mut self, features: u64) -> Result<()> {
        let wrong = features & !self.get_protocol_features()?.bits();
        if wrong == 0 {
            return Ok(());
        }
        self.note(Err(SetupError::Features { wrong }))
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(self.lines.len() as u64)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        let outcome = match self.line(index) {
            Ok(line) if line.is_disabled != enable => Ok(()),
            Ok(_) => self.change(index, |line| line.is_disabled = !enable),
            Err(error) => Err(error),
        };
        self.note(outcome)
    }

    fn get_config(&mut self, offset: u32, size: u32, _: VhostUserConfigFlags) -> Result<Vec<u8>> {
        let config = self.shared.virtio_config().to_bytes();
        let (offset, size) = (offset as usize, size as usize);
        let end = offset.checked_add(size);
        let range = end.and_then(|end| config.get(offset..end));
        let wrong = SetupError::NotOffered("configuration beyond that of a crypto device");
        self.note(range.map(<[u8]>::to_vec).ok_or(wrong))
    }

    fn set_config(&mut self, _: u32, _: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        self.note(Err(SetupError::NotOffered("a change of the configuration")))
    }

    fn set_gpu_socket(&mut self, _: GpuBackend) -> Result<()> {
        self.note(Err(SetupError::NotOffered("a socket for graphics")))
    }

    fn get_shared_object(&mut self, _: VhostUserSharedMsg) -> Result<File> {
        self.note(Err(SetupError::NotOffered("a shared object")))
    }

    fn get_inflight_fd(&mut self, wanted: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        let bytes = Logs::bytes(self.lines.len());
        let queues = wanted.num_queues;
        let inflight = VhostUserInflight {
            mmap_size: bytes as u64,
            mmap_offset: 0,
            num_queues: queues,
            queue_size: wanted.queue_size,
        };
        let made = sealed(bytes).map(File::from).map_err(SetupError::from);
        let kept = made.and_then(|file| self.keep_log(&inflight, &file).map(|()| file));
        Ok((inflight, self.note(kept)?))
    }

    fn set_inflight_fd(&mut self, inflight: &VhostUserInflight, file: File) -> Result<()> {
        let kept = self.keep_log(inflight, &file);
        self.note(kept)
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Ok(crate::memory::REGIONS_MAX as u64)
    }

    fn add_mem_region(
        &mut self,
        region: &VhostUserSingleMemoryRegion,
        file: File,
        _: Option<bool>,
    ) -> Result<Option<u64>> {
        let bytes = self.memory.bytes().saturating_add(region.memory_size);
        let spec = single(region);
        let changed = self.change_memory(bytes, |memory| memory.with(spec, &file));
        self.note(changed).map(|()| None)
    }

    fn remove_mem_region(&mut self, region: &VhostUserSingleMemoryRegion) -> Result<()> {
        let bytes = self.memory.bytes().saturating_sub(region.memory_size);
        let spec = single(region);
        let changed = self.change_memory(bytes, |memory| memory.without(spec));
        self.note(changed)
    }

    fn set_device_state_fd(
        &mut self,
        _: VhostTransferStateDirection,
        _: VhostTransferStatePhase,
        _: File,
    ) -> Result<Option<File>> {
        self.note(Err(SetupError::Migration))
    }

    fn check_device_state(&mut self) -> Result<()> {
        self.note(Err(SetupError::Migration))
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        self.note(Err(SetupError::NotOffered("shared memory of the device")))
    }

    fn set_log_base(&mut self, _: &VhostUserLog, _: File) -> Result<()> {
        self.note(Err(SetupError::Migration))
    }
}
