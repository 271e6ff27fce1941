//! `lockgate rfc2544`

use std::time::Duration;

use forward::external::ExternalError;
use sections::rfc2544::{
    Addressing, Config, Cpus, Directions, End, Family, OsiLayer, PortKind, SIZES, Size, Test, look,
    section,
};

use crate::cli::{DeviceLayer, DeviceTest, FrameMaker, MeasuringArguments, Rfc2544Arguments};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::measure::{self, Job};

pub fn rfc2544(arguments: &Rfc2544Arguments, console: &Console) -> Result<Exit, Failure> {
    let config = config(arguments).map_err(anyhow::Error::msg).or_usage()?;
    let section = section(config.clone());
    let section = section.map_err(anyhow::Error::msg).or_usage()?;
    if !arguments.check {
        // A run that was killed may still have the ports.
        measure::sweep(console);
    }
    look(&config).map_err(refused)?;
    let (budget, _) = section.appetite();
    let scenario = serde_json::json!({
        "name": section.name(),
        "sections": { section.name(): section.resolved() },
    });
    let job = Job {
        sections: vec![section.into()],
        scenario,
        seed: lab::scenario::DEFAULT_SEED,
        budget,
    };
    let how = MeasuringArguments {
        budget: None,
        precision: None,
        out: arguments.out.clone(),
        check: arguments.check,
        seed: None,
        full: true,
    };
    measure::measure(job, &how, &arguments.export, console)
}

fn refused(error: ExternalError) -> Failure {
    let exit = match error {
        ExternalError::Setup(_) => Exit::Usage,
        _ => Exit::Failed,
    };
    let error = error.into();
    Failure { exit, error }
}

/// The two of a list, as `flag` gives them.
fn two<T: Clone>(list: &[T], flag: &str) -> Result<[T; 2], String> {
    match list {
        [one, other] => Ok([one.clone(), other.clone()]),
        other => Err(format!(
            "{flag} names {}: it takes two, one a side, with a comma between",
            other.len()
        )),
    }
}

fn config(arguments: &Rfc2544Arguments) -> Result<Config, String> {
    let ports = two(&arguments.ports, "--ports")?;
    let cpus = match &arguments.cpus[..] {
        [] => Cpus::of_host().map_err(|error| format!("the CPUs are not known: {error}"))?,
        [_] => {
            return Err(
                "--cpus names one CPU: it takes two or more, or who sends and who counts hold each other back"
                    .to_owned(),
            );
        }
        chosen => Cpus::among(chosen),
    };
    let mut config = Config::new(ports, cpus);
    let family = if arguments.ipv6 {
        Family::V6
    } else {
        Family::V4
    };
    let setup = &mut config.setup;
    setup.addressing = addressing(arguments, family)?;
    setup.layer = match arguments.layer {
        DeviceLayer::Two => OsiLayer::Two,
        DeviceLayer::Three => OsiLayer::Three,
    };
    setup.directions = match arguments.two_way {
        true => Directions::TwoWay,
        false => Directions::OneWay,
    };
    setup.destinations = arguments.destinations;
    setup.frames = match arguments.frames {
        FrameMaker::Auto => None,
        FrameMaker::Live => Some(PortKind::LiveFrame),
        FrameMaker::Packet => Some(PortKind::AfPacket),
    };
    setup.tasks.clone_from(&arguments.device_pid);
    if !arguments.sizes.is_empty() {
        config.sizes.clone_from(&arguments.sizes);
    } else if family == Family::V6 {
        // The stamp does not fit into less: RFC 5180, section 5.1.1, allows it.
        let from = SIZES.iter().map(|&bytes| Size::Fixed(bytes.max(84)));
        config.sizes = from.collect();
    }
    config.tests = tests(&arguments.tests);
    config.loss_ratio = arguments.loss;
    config.trial = Duration::from_secs_f64(arguments.trial);
    config.speed_bits_per_s = arguments.speed;
    if arguments.calibrate {
        config.calibrates = true;
        config.tests = vec![Test::Throughput, Test::Latency];
    }
    Ok(match arguments.rfc {
        true => config.as_the_rfc(),
        false => config,
    })
}

fn tests(asked: &[DeviceTest]) -> Vec<Test> {
    let is_asked = |test: &Test| {
        asked.iter().any(|one| match one {
            DeviceTest::All => true,
            DeviceTest::Throughput => *test == Test::Throughput,
            DeviceTest::Latency => *test == Test::Latency,
            DeviceTest::Loss => *test == Test::FrameLoss,
            DeviceTest::BackToBack => *test == Test::BackToBack,
        })
    };
    Test::ALL.into_iter().filter(is_asked).collect()
}

/// The standards', but for what flags say.
fn addressing(arguments: &Rfc2544Arguments, family: Family) -> Result<Addressing, String> {
    let Addressing(mut ends) = Addressing::of_standard(family);
    fn put<T: Clone>(
        ends: &mut [End; 2],
        given: &[T],
        flag: &str,
        of: impl Fn(&mut End) -> &mut T,
    ) -> Result<(), String> {
        if given.is_empty() {
            return Ok(());
        }
        let [one, other] = two(given, flag)?;
        (*of(&mut ends[0]), *of(&mut ends[1])) = (one, other);
        Ok(())
    }
    put(&mut ends, &arguments.tester, "--tester", |end| {
        &mut end.tester
    })?;
    put(&mut ends, &arguments.device, "--device", |end| {
        &mut end.device
    })?;
    put(&mut ends, &arguments.behind, "--behind", |end| {
        &mut end.behind
    })?;
    Ok(Addressing(ends))
}
